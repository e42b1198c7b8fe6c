"""Traces: what happened on the PCPUs of a system."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Literal

from . import _bulkhead, views
from .systems import Path
from .table import Table


@dataclass(frozen=True, repr=False)
class Trace:
    """What happened in an execution or a simulation.

    Its time 0 is the start of the servers' first period, or the first record.
    """

    system: str
    """Name of the system."""
    origin: Literal["hypervisor", "simulator"]
    """Where it comes from."""
    lost: int
    """Records that were overwritten before they were read."""
    cut_off: bool
    """Whether it was not written to its end."""
    tasks: Table
    """``vm, vcpu, task, period_ns, deadline_ns, jobs, missed_deadlines, response_max_ns, ...`` of each task."""
    jobs: Table
    """``vm, vcpu, task, job, release_ns, start_ns, completion_ns, response_ns`` of each job, as far as it is known."""
    records: Table
    """``time_ns, ticks, pcpu, event, vm, vcpu, task, job, step, value`` of each record, in the order of time."""

    def __repr__(self) -> str:
        return views.line(
            "Trace",
            {
                "system": self.system,
                "origin": self.origin,
                "records": len(self.records),
                "jobs": len(self.jobs),
                "lost": self.lost,
            },
        )

    def _repr_html_(self) -> str:
        return views.page(repr(self), (), {"tasks": self.tasks})


def trace(file: Path) -> Trace:
    """Reads a trace of :func:`bulkhead.run`, ``bulkhead run --trace`` or ``bulkhead sim --trace``.

    Events and columns of records are those of ``bulkhead trace export --to csv``.

    Raises:
        BulkheadError: the file cannot be read, or is no trace.
    """
    text, records, jobs = _bulkhead.trace(os.fspath(file))
    document = json.loads(text)
    return Trace(
        system=document["system"],
        origin=document["origin"],
        lost=document["lost"],
        cut_off=document["cut_off"],
        tasks=Table(document["tasks"]),
        jobs=Table.of_columns(dict(zip(_JOBS, jobs))),
        records=Table.of_columns(dict(zip(_RECORDS, records))),
    )


_JOBS = (
    "vm",
    "vcpu",
    "task",
    "job",
    "release_ns",
    "start_ns",
    "completion_ns",
    "response_ns",
)

_RECORDS = (
    "time_ns",
    "ticks",
    "pcpu",
    "event",
    "vm",
    "vcpu",
    "task",
    "job",
    "step",
    "value",
)
