"""Bulkhead: plans, analyses, simulates and runs real-time systems in virtual machines.

- :func:`check`, :func:`plan`, :func:`simulate`: described systems;
- :func:`run`, :func:`prove`: the same in QEMU; :func:`trace`: what was recorded there;
- :func:`response_times`: plain tasks;
- :mod:`bulkhead.generate`: random task sets;
- :func:`sweep`: experiments over random systems, here or on a Dask cluster.

Results are :class:`Table`\\ s, which become pandas data frames or Arrow tables on demand. What is computed leaves
the interpreter lock; Ctrl-C works.
"""

from . import generate
from ._bulkhead import __version__
from .errors import (
    BulkheadError,
    DescriptionError,
    FileError,
    MissingFileError,
    Mistake,
    NoPlanError,
)
from .experiments import Experiment, Sweep, sweep
from .proofs import Execution, Proof, prove
from .runs import Run, run
from .systems import Check, Plan, Simulation, check, plan, simulate
from .table import Table
from .tasks import Server, Task, response_times
from .traces import Trace, trace

__all__ = [
    "BulkheadError",
    "Check",
    "DescriptionError",
    "Execution",
    "Experiment",
    "FileError",
    "MissingFileError",
    "Mistake",
    "NoPlanError",
    "Plan",
    "Proof",
    "Run",
    "Server",
    "Simulation",
    "Sweep",
    "Table",
    "Task",
    "Trace",
    "__version__",
    "check",
    "generate",
    "plan",
    "prove",
    "response_times",
    "run",
    "simulate",
    "sweep",
    "trace",
]
