"""Fills the journal of a sweep from a Dask cluster: what ``bulkhead sweep --dask`` starts."""

from __future__ import annotations

import argparse
import os
import sys

from . import _bulkhead, cluster
from .errors import BulkheadError
from .experiments import Experiment


def _shown(finished: int, shards: int) -> None:
    end = "\n" if finished == shards else ""
    print(f"\r{finished}/{shards} shards", end=end, file=sys.stderr, flush=True)


def main() -> int:
    """Fills the journal of an experiment."""
    parser = argparse.ArgumentParser(prog="python3 -m bulkhead", description=__doc__)
    parser.add_argument("experiment", help="the experiment")
    parser.add_argument("folder", help="the folder of the sweep")
    parser.add_argument("address", help="address of the scheduler, as tcp://host:8786")
    options = parser.parse_args()
    progress = _shown if sys.stderr.isatty() else None
    try:
        experiment = Experiment.read(options.experiment)
        journal = _bulkhead.Journal(options.folder, experiment._inner)
        try:
            cluster.run(experiment, journal, options.address, progress)
        finally:
            journal.close()
    except BulkheadError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads of the client may still wait for what nobody wants any more.
    os._exit(status)
