"""Experiments over random systems, on this machine or on a Dask cluster."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import _bulkhead
from .errors import BulkheadError
from .table import Table

if TYPE_CHECKING:
    import pandas
    import pyarrow

Path = str | os.PathLike[str]
Progress = Callable[[int, int], object]


class Experiment:
    """An experiment: a grid of points, with so many random systems each.

    >>> text = '''
    ... title = "Example"
    ... seed = 1
    ... systems = 4
    ... [grid]
    ... utilization = [0.2, 0.4]
    ... [servers]
    ... simulate_ms = 100
    ... '''
    >>> experiment = Experiment(text)
    >>> experiment.points, experiment.shards
    (2, 2)

    Raises:
        DescriptionError: it has mistakes.
    """

    def __init__(self, text: str, name: str = "experiment.toml") -> None:
        self._inner = _bulkhead.Experiment(name, text)
        self.name = name
        """What messages call it."""

    @classmethod
    def read(cls, file: Path) -> Experiment:
        """Out of a file.

        Raises:
            DescriptionError: it has mistakes.
            BulkheadError: it cannot be read.
        """
        name = os.fspath(file)
        try:
            with open(name, encoding="utf-8") as opened:
                return cls(opened.read(), name)
        except (OSError, UnicodeDecodeError) as error:
            raise BulkheadError(f"cannot read {name}: {error}") from error

    @property
    def title(self) -> str:
        """What it shows, in a line."""
        return self._inner.title

    @property
    def text(self) -> str:
        """The text that it was read from."""
        return self._inner.text

    @property
    def parameters(self) -> list[str]:
        """Names of the parameters that differ from point to point."""
        return self._inner.parameters

    @property
    def points(self) -> int:
        """Number of points."""
        return self._inner.points

    @property
    def systems(self) -> int:
        """Systems of each point."""
        return self._inner.systems

    @property
    def shards(self) -> int:
        """Number of shards: some systems of one point each, which are computed at a time."""
        return self._inner.shards

    def compute(self, shard: int) -> str:
        """Computes a shard, as a line of text: what a worker does."""
        return self._inner.compute(shard)


@dataclass(frozen=True)
class Sweep:
    """What a sweep came to."""

    ok: bool
    """Whether nothing was found that refutes an analysis."""
    points: Table
    """A row for each point: its parameters, and what its systems come to."""
    table: str
    """The Parquet file with a row for each system."""

    def to_pandas(self) -> pandas.DataFrame:
        """All systems as a data frame (needs pandas and pyarrow)."""
        import pandas

        return pandas.read_parquet(self.table)

    def to_arrow(self) -> pyarrow.Table:
        """All systems as an Arrow table (needs pyarrow)."""
        import pyarrow.parquet

        return pyarrow.parquet.read_table(self.table)


def sweep(
    experiment: Experiment | Path,
    folder: Path,
    *,
    jobs: int | None = None,
    dask: str | None = None,
    progress: Progress | None = None,
) -> Sweep:
    """Evaluates all systems of an experiment. The table is the same to the byte wherever that is done.

    What is finished is kept in the folder if this is interrupted, and not computed again.

    Args:
        experiment: an experiment, or its file.
        folder: for the table, and for what is finished until it is there.
        jobs: threads; default: one for each CPU.
        dask: the address of a Dask scheduler, as ``tcp://host:8786``; its workers need this package.
        progress: called with the number of finished shards and that of all.

    Raises:
        DescriptionError: the experiment has mistakes.
        BulkheadError: a system fails, the folder belongs to another experiment or process, or there is no such
            cluster.
    """
    given = experiment if isinstance(experiment, Experiment) else Experiment.read(experiment)
    if dask is not None:
        try:
            from . import cluster
        except ImportError as error:
            raise BulkheadError(
                f"{error}: install the package with `pip install './python[dask]'`"
            ) from error
    journal = _bulkhead.Journal(os.fspath(folder), given._inner)
    try:
        if dask is None:
            journal.run(jobs, progress)
        else:
            cluster.run(given, journal, dask, progress)
        summary = json.loads(journal.summary())
        return Sweep(ok=summary["ok"], points=Table(summary["points"]), table=journal.finish())
    finally:
        journal.close()
