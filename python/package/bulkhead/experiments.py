"""Experiments over random systems, on this machine or on a Dask cluster."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import _bulkhead, views
from .errors import BulkheadError, FileError, MissingFileError
from .progress import Bar
from .table import Table

if TYPE_CHECKING:
    import distributed
    import pandas
    import pyarrow

Path = str | os.PathLike[str]
Progress = Callable[[int, int], object]


class Experiment:
    """An experiment: a grid of points, each with the same number of random systems.

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
            FileError: it cannot be read.
        """
        name = os.fspath(file)
        try:
            with open(name, encoding="utf-8") as opened:
                text = opened.read()
        except FileNotFoundError as error:
            raise MissingFileError(f"cannot read {name}: {error}", error.errno, name) from error
        except OSError as error:
            raise FileError(f"cannot read {name}: {error}", error.errno, name) from error
        except UnicodeDecodeError as error:
            raise BulkheadError(f"cannot read {name}: {error}") from error
        return cls(text, name)

    @property
    def title(self) -> str:
        """The title: one line."""
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
        """Computes a shard, and returns it as a line of text; workers of a cluster call this method."""
        return self._inner.compute(shard)

    def _facts(self) -> dict[str, object]:
        return {
            "title": self.title,
            "points": self.points,
            "systems": self.systems,
            "shards": self.shards,
        }

    def __repr__(self) -> str:
        return views.line("Experiment", self._facts())


@dataclass(frozen=True, repr=False)
class Sweep:
    """The results of a sweep."""

    ok: bool
    """Whether no result refutes an analysis."""
    points: Table
    """A row for each point: its parameters, and the results of its systems."""
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

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """All systems for any library that reads Arrow's C streams (needs pyarrow)."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return views.line("Sweep", {"ok": self.ok, "points": len(self.points), "table": self.table})

    def _repr_html_(self) -> str:
        return views.page(repr(self), (), {"points": self.points})


def sweep(
    experiment: Experiment | Path,
    folder: Path,
    *,
    jobs: int | None = None,
    dask: str | distributed.Client | None = None,
    progress: Progress | bool | None = None,
) -> Sweep:
    """Evaluates all systems of an experiment. The table is the same to the byte wherever you compute it.

    If the sweep is interrupted, the folder keeps the finished shards, and the next call does not compute them again.

    Args:
        experiment: an experiment, or its file.
        folder: the folder for the table, and for finished shards until the table is complete.
        jobs: threads; default: one for each CPU.
        dask: a ``distributed.Client``, which stays open, or the address of a Dask scheduler, as
            ``tcp://host:8786``; the workers need this package.
        progress: ``True``: a bar on the standard error; or a function, called with the number of finished shards and
            that of all.

    Raises:
        DescriptionError: the experiment has mistakes.
        FileError: the experiment cannot be read.
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
    bar = Bar("shards") if progress is True else None
    told = bar if isinstance(progress, bool) else progress
    journal = _bulkhead.Journal(os.fspath(folder), given._inner)
    try:
        if dask is None:
            journal.run(jobs, told)
        else:
            cluster.run(given, journal, dask, told)
        summary = json.loads(journal.summary())
        return Sweep(ok=summary["ok"], points=Table(summary["points"]), table=journal.finish())
    finally:
        journal.close()
        if bar is not None:
            bar.close()
