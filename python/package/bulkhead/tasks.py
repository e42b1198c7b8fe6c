"""Plain tasks: bounds of response times without a description."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from . import _bulkhead
from .table import Table


@dataclass(frozen=True)
class Task:
    """A task that releases jobs again and again. Times are nanoseconds."""

    wcet_ns: int
    """Longest execution time: ``C``."""
    period_ns: int
    """Least time between two arrivals: ``T``."""
    deadline_ns: int | None = None
    """From arrival to deadline: ``D``; default: the period."""
    jitter_ns: int = 0
    """Longest time from arrival to release: ``J``."""
    blocking_ns: int = 0
    """For how long tasks of lower priority keep the processor: ``B``."""
    suspension_ns: int = 0
    """For how long one job waits for something else: ``S``."""

    @property
    def deadline(self) -> int:
        """``D``."""
        return self.period_ns if self.deadline_ns is None else self.deadline_ns


@dataclass(frozen=True)
class Server:
    """How a VCPU gets processor time. Times are nanoseconds."""

    kind: Literal["periodic", "deferrable", "sporadic"]
    """How budget is used up and renewed."""
    budget_ns: int
    """Processor time in each period."""
    period_ns: int
    """The period."""


def response_times(tasks: Sequence[Task], server: Server | None = None) -> Table:
    """Bounds for tasks under preemptive fixed priorities, the highest priority first.

    Without a server the tasks have a PCPU for themselves; with one they are on a VCPU that gets its budget at
    some time of each period. Columns are ``wcrt_ns``, ``failure`` (why there is no bound), ``deadline_ns`` and ``ok``.

    >>> ms = 1_000_000
    >>> tasks = [Task(1 * ms, 10 * ms), Task(5 * ms, 40 * ms, deadline_ns=30 * ms)]
    >>> response_times(tasks)["wcrt_ns"]
    [1000000, 6000000]
    >>> response_times(tasks, Server("deferrable", 4 * ms, 10 * ms))["wcrt_ns"][1]
    26000000

    Raises:
        BulkheadError: a time is 0 or too long.
    """
    tasks = list(tasks)
    times = [
        (
            task.wcet_ns,
            task.period_ns,
            task.deadline,
            task.jitter_ns,
            task.blocking_ns,
            task.suspension_ns,
        )
        for task in tasks
    ]
    on = None if server is None else (server.kind, server.budget_ns, server.period_ns)
    bounds = json.loads(_bulkhead.response_times(times, on))
    return Table(
        {
            **bound,
            "deadline_ns": task.deadline,
            "ok": bound["wcrt_ns"] is not None and bound["wcrt_ns"] <= task.deadline,
        }
        for bound, task in zip(bounds, tasks)
    )
