"""Bulkhead: plans, analyses and simulates real-time systems in virtual machines.

- :func:`check`, :func:`plan`, :func:`simulate`: described systems;
- :func:`response_times`: plain tasks;
- :mod:`bulkhead.generate`: random task sets;
- :func:`sweep`: experiments over random systems, here or on a Dask cluster.

Results are :class:`Table`\\ s, which become pandas data frames or Arrow tables on demand. What is computed leaves
the interpreter lock; Ctrl-C works.
"""

from . import generate
from .errors import BulkheadError, DescriptionError, Mistake, NoPlanError
from .experiments import Experiment, Sweep, sweep
from .systems import Check, Plan, Simulation, check, plan, simulate
from .table import Table
from .tasks import Server, Task, response_times

__all__ = [
    "BulkheadError",
    "Check",
    "DescriptionError",
    "Experiment",
    "Mistake",
    "NoPlanError",
    "Plan",
    "Server",
    "Simulation",
    "Sweep",
    "Table",
    "Task",
    "check",
    "generate",
    "plan",
    "response_times",
    "simulate",
    "sweep",
]
