"""Proofs that systems are isolated."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import _bulkhead, views
from .errors import refuse_others
from .systems import Path, optional_path
from .table import Table


@dataclass(frozen=True, repr=False)
class Execution:
    """A run of a proof."""

    time_ns: int
    """How long it was, in the time of the cache model."""
    cross_vm_evictions: int
    """Lines of VMs that other VMs evicted from the last-level cache."""
    vms: Table
    """``vm, state, bus_wait_ns, memory_lines`` of each VM."""
    evictions: Table
    """``came, went, evictions`` for each two owners of lines."""
    sections: Table
    """``resource, task, times, waits, wait_max_ns, hold_max_ns`` of each task that shares a resource."""
    notes: tuple[str, ...]
    """The problems of the execution, one sentence each."""

    def __repr__(self) -> str:
        return views.line(
            "Execution", {"time_ns": self.time_ns, "cross_vm_evictions": self.cross_vm_evictions}
        )

    def _repr_html_(self) -> str:
        return views.page(
            repr(self),
            self.notes,
            {"VMs": self.vms, "evictions": self.evictions, "sections": self.sections},
        )


@dataclass(frozen=True, repr=False)
class Proof:
    """The results of a proof: analysis, simulation and execution with the plan, and the same without isolation."""

    ok: bool
    """Whether everything holds with the plan."""
    failures: tuple[str, ...]
    """The statements that do not hold, one sentence each."""
    notes: tuple[str, ...]
    """Notes for readers of the results, one sentence each."""
    schedulable_with: bool
    """Whether the analysis says that all tasks are in time with the plan."""
    schedulable_without: bool | None
    """The same without isolation, if the system has some."""
    tasks: Table
    """``vm, vcpu, task, deadline_ns, bound_with_ns, simulated_response_max_ns, with_response_max_ns,
    with_missed_deadlines, bound_without_ns, without_response_max_ns, ...`` of each task."""
    budgets: Table
    """``vm, vcpu, period_ns, budget_accesses, with_accesses_max, without_accesses_max, ...`` of each limit on memory
    accesses."""
    executed_with: Execution
    """The run with the plan."""
    executed_without: Execution | None
    """The run without isolation, if the system has some."""
    report: str
    """The page with all results (HTML)."""
    document: dict[str, Any]
    """All results, as ``bulkhead prove --json`` prints them."""

    def __repr__(self) -> str:
        return views.line("Proof", {"ok": self.ok, "tasks": len(self.tasks), "report": self.report})

    def _repr_html_(self) -> str:
        return views.page(
            repr(self), (*self.failures, *self.notes), {"tasks": self.tasks, "limits": self.budgets}
        )


def prove(
    file: Path,
    output: Path | None = None,
    *,
    append: Mapping[str, str] | None = None,
    timeout_s: float = 600,
    simulate_ns: int = 10_000_000_000,
    cachescope_options: Sequence[str] = (),
    hypervisor: Path | None = None,
) -> Proof:
    """Proves that a described system (.toml) is isolated, as ``bulkhead prove`` does (needs ``make cachescope``).

    Ctrl-C stops QEMU; then no file is changed.

    Args:
        file: the description.
        output: a folder for the results; default: the description with the ending ``.proof``.
        append: texts for the ends of the command lines of VMs, by the names of the VMs.
        timeout_s: a run that takes longer is stopped, and nothing is proven.
        simulate_ns: simulated time.
        cachescope_options: options of cachescope, such as ``"bus=20ns"``.
        hypervisor: an ELF file; default: what ``BULKHEAD_HYPERVISOR`` names, or ``build/hypervisor.elf`` here or in
            a folder above.

    Raises:
        DescriptionError: the file has mistakes.
        NoPlanError: there is no plan for what the description leaves open.
        BulkheadError: a file cannot be read, found or written, there are no tasks, or a run fails.
    """
    refuse_others(simulate_ns=simulate_ns)
    document = json.loads(
        _bulkhead.prove(
            os.fspath(file),
            optional_path(output),
            list((append or {}).items()),
            timeout_s,
            simulate_ns,
            list(cachescope_options),
            optional_path(hypervisor),
        )
    )
    without = document["without"]
    return Proof(
        ok=document["ok"],
        failures=tuple(document["failures"]),
        notes=tuple(document["notes"]),
        schedulable_with=document["schedulable_with"],
        schedulable_without=document["schedulable_without"],
        tasks=Table(_flat(task) for task in document["tasks"]),
        budgets=Table(document["budgets"]),
        executed_with=_execution(document["with"]),
        executed_without=None if without is None else _execution(without),
        report=document["report"],
        document=document,
    )


_PARTS = ("simulated", "with", "without")
"""What responses of a task stand under."""

_RESPONSES = ("jobs", "missed_deadlines", "response_max_ns")


def _flat(task: dict[str, Any]) -> dict[str, Any]:
    row = {name: value for name, value in task.items() if name not in _PARTS}
    for part in _PARTS:
        found = task[part] or {}
        row.update({f"{part}_{name}": found.get(name) for name in _RESPONSES})
    return row


def _execution(run: dict[str, Any]) -> Execution:
    return Execution(
        time_ns=run["time_ns"],
        cross_vm_evictions=run["cross_vm_evictions"],
        vms=Table(run["vms"]),
        evictions=Table(run["evictions"]),
        sections=Table(run["sections"]),
        notes=tuple(run["notes"]),
    )
