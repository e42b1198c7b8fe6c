"""Runs of systems in QEMU."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from . import _bulkhead, views
from .systems import Path, optional_path
from .table import Table


@dataclass(frozen=True, repr=False)
class Run:
    """The results of a run."""

    ok: bool
    """Whether all is well: whether the command would end with exit status 0."""
    result: Literal["ok", "failed", "timed-out"]
    """The same in one word; ``timed-out`` means that the run took longer than ``timeout_s``."""
    problems: tuple[str, ...]
    """The problems of the run, one sentence each."""
    notes: tuple[str, ...]
    """Notes for readers of the results, one sentence each."""
    times: Literal["host", "measured", "turns", "shared", "exact"]
    """How exact times are: ``host``: those of this host; ``measured``: measured on the machine of the description;
    ``turns``: the CPUs of the machine take long turns; ``shared``: its CPUs share a clock; ``exact``: exact."""
    tasks: Table
    """``vm, task, period_us, deadline_ns, bound_ns, jobs, misses, response_max_ns, ok, ...`` of each task. ``ok``:
    no job was late and, where times are exact, no job took longer than the bound; ``None`` if no complete job was
    seen."""
    vms: Table
    """``vm, state, reason, restarts, exits, interrupts, lines, ...`` of each VM."""
    owners: Table | None
    """``owner, accesses, l1_misses, llc_misses`` of each VM and the hypervisor, if cachescope counted."""
    evictions: Table | None
    """``came, went, evictions`` from the last-level cache for each two owners of lines, if cachescope counted."""
    trace: str | None
    """The file of the trace, if one was recorded."""
    log_file: str
    """The file with all output of the console."""
    document: dict[str, Any]
    """All results, as ``bulkhead run --json`` prints them."""

    def __repr__(self) -> str:
        return views.line(
            "Run",
            {"ok": self.ok, "result": self.result, "tasks": len(self.tasks), "vms": len(self.vms)},
        )

    def _repr_html_(self) -> str:
        return views.page(
            repr(self),
            (*self.problems, *self.notes),
            {"tasks": self.tasks, "VMs": self.vms, "evictions": self.evictions},
        )


def run(
    file: Path,
    *,
    append: Mapping[str, str] | None = None,
    deterministic: bool = True,
    short_turns: bool = False,
    cachescope: Path | None = None,
    cachescope_options: Sequence[str] = (),
    trace: Path | None = None,
    until_off: bool = False,
    timeout_s: float | None = None,
    log: Path | None = None,
    hypervisor: Path | None = None,
    qemu_arguments: Sequence[str] = (),
) -> Run:
    """Boots a description (.toml) or a plan (.dts, .dtb) in QEMU and waits for its end, as ``bulkhead run`` does.

    >>> import bulkhead
    >>> run = bulkhead.run("../systems/locks.toml", until_off=True)
    >>> run.ok, run.tasks["misses"]
    (True, [0, 0, 0, 0, 0, 0, 0, 0])

    Ctrl-C stops QEMU; then there is no trace.

    Args:
        file: the description or plan.
        append: texts for the ends of the command lines of VMs, by the names of the VMs.
        deterministic: one instruction takes 1 ns, and every run is the same; otherwise the time is that of this host.
        short_turns: CPUs take turns of 500 instructions, and timers are not late (needs ``make cachescope``).
        cachescope: a folder for counts of caches (needs ``make cachescope``).
        cachescope_options: options of cachescope, such as ``"time=model"``.
        trace: a file for a trace, which :func:`bulkhead.trace` reads.
        until_off: whether each VM has to switch itself off.
        timeout_s: the run is stopped after this time, and is not well then.
        log: a file for all output of the console; default: one beside the image.
        hypervisor: an ELF file; default: what ``BULKHEAD_HYPERVISOR`` names, or ``build/hypervisor.elf`` here or in
            a folder above.
        qemu_arguments: more arguments for QEMU.

    Raises:
        DescriptionError: the file has mistakes.
        NoPlanError: there is no plan for what the description leaves open.
        BulkheadError: a file cannot be read, found or written, or QEMU does not start.
    """
    document = json.loads(
        _bulkhead.run(
            os.fspath(file),
            list((append or {}).items()),
            deterministic,
            short_turns,
            optional_path(cachescope),
            list(cachescope_options),
            optional_path(trace),
            until_off,
            timeout_s,
            optional_path(log),
            optional_path(hypervisor),
            list(qemu_arguments),
        )
    )
    counts = document.get("cachescope")
    tasks = [
        {"vm": vm["name"], **_named(task, "task")} for vm in document["vms"] for task in vm["tasks"]
    ]
    vms = [_named(vm, "vm") for vm in document["vms"]]
    return Run(
        ok=document["ok"],
        result=document["result"],
        problems=tuple(document["problems"]),
        notes=tuple(document["notes"]),
        times=document["times"],
        tasks=Table(tasks),
        vms=Table({name: value for name, value in vm.items() if name != "tasks"} for vm in vms),
        owners=None if counts is None else Table(_named(it, "owner") for it in counts["owners"]),
        evictions=None if counts is None else Table(counts["evictions"]),
        trace=document["trace"]["file"] if "trace" in document else None,
        log_file=document["log_file"],
        document=document,
    )


def _named(row: dict[str, Any], what: str) -> dict[str, Any]:
    """A row whose name stands under what it names."""
    return {what if name == "name" else name: value for name, value in row.items()}
