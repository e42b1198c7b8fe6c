"""Described systems: bounds, plans, simulations."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Literal

from . import _bulkhead, views
from .errors import refuse_others
from .table import Table

Path = str | os.PathLike[str]


@dataclass(frozen=True, repr=False)
class Check:
    """Upper bounds for a system."""

    ok: bool
    """Whether every task meets its deadline for sure, and no PCPU is overloaded."""
    tasks: Table
    """``vm, vcpu, task, wcrt_ns, deadline_ns, slack_ns, ok, failure, ...`` of each task."""
    vcpus: Table
    """``pcpu, vm, vcpu, server, budget_ns, period_ns, wcrt_ns, blackout_ns, ...`` of each VCPU."""
    document: dict[str, Any]
    """The same in full, as ``bulkhead check --json`` has it under ``analysis``."""

    def __repr__(self) -> str:
        return views.line(
            "Check", {"ok": self.ok, "tasks": len(self.tasks), "vcpus": len(self.vcpus)}
        )

    def _repr_html_(self) -> str:
        return views.page(repr(self), (), {"tasks": self.tasks, "VCPUs": self.vcpus})


@dataclass(frozen=True, repr=False)
class Plan:
    """A plan, and the decisions of the planner."""

    ok: bool
    """Whether every task meets its deadline for sure."""
    name: str
    """Name of the system."""
    dts: str
    """The plan: a device tree in source form."""
    total_ppm: int
    """The processor time of all VCPUs together, in millionths of a PCPU."""
    tasks: Table
    """``vm, vcpu, task, wcet_ns, wcrt_ns, slack_ns, colors, ...`` of each task."""
    vcpus: Table
    """``pcpu, vm, vcpu, server, budget_ns, period_ns, ...`` of each VCPU."""
    pcpus: Table
    """Where the time of each PCPU goes, in millionths."""
    document: dict[str, Any]
    """The bounds in full, as ``bulkhead plan --json`` has them under ``analysis``."""
    search: dict[str, Any]
    """What the search did: ``candidates``, ``cut`` (time ended it), ``slack_ppm``."""

    def __repr__(self) -> str:
        return views.line(
            "Plan",
            {
                "ok": self.ok,
                "name": self.name,
                "tasks": len(self.tasks),
                "total_ppm": self.total_ppm,
            },
        )

    def _repr_html_(self) -> str:
        return views.page(
            repr(self), (), {"tasks": self.tasks, "VCPUs": self.vcpus, "PCPUs": self.pcpus}
        )


@dataclass(frozen=True, repr=False)
class Simulation:
    """The results of a simulation."""

    simulated_ns: int
    """The simulated time."""
    events: int
    """Releases, completions and timers."""
    overload: str | None
    """The reason why the simulation could not continue, if it could not."""
    tasks: Table
    """``vm, vcpu, task, jobs, response_max_ns, missed_deadlines, ...`` of each task."""
    vcpus: Table
    """``pcpu, vm, vcpu, load, supply_ns, dispatches, ...`` of each VCPU."""
    jobs: Table | None
    """``vm, vcpu, task, release_ns, completion_ns, response_ns`` of each complete job, if wanted."""

    @property
    def missed_deadlines(self) -> int:
        """Jobs that were late, those that are not complete included."""
        return sum(self.tasks["missed_deadlines"]) if len(self.tasks) else 0

    def __repr__(self) -> str:
        return views.line(
            "Simulation",
            {
                "simulated_ns": self.simulated_ns,
                "tasks": len(self.tasks),
                "missed_deadlines": self.missed_deadlines,
            },
        )

    def _repr_html_(self) -> str:
        return views.page(
            repr(self),
            () if self.overload is None else (self.overload,),
            {"tasks": self.tasks, "VCPUs": self.vcpus},
        )


def optional_path(path: Path | None) -> str | None:
    """A path as text, if there is one."""
    return None if path is None else os.fspath(path)


def _vcpus(analysis: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"pcpu": pcpu["pcpu"], **vcpu} for pcpu in analysis["pcpus"] for vcpu in pcpu["vcpus"]]


def _without(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def check(file: Path) -> Check:
    """Bounds the response times of a description (.toml) or a plan (.dts, .dtb).

    Raises:
        DescriptionError: the file has mistakes.
        NoPlanError: there is no plan for what the description leaves open.
        BulkheadError: the file cannot be read.
    """
    document = json.loads(_bulkhead.check(os.fspath(file)))
    analysis = document["analysis"]
    vcpus = _vcpus(analysis)
    tasks = [
        {"vm": vcpu["vm"], "vcpu": vcpu["vcpu"], **_without(task, "terms")}
        for vcpu in vcpus
        for task in vcpu["tasks"]
    ]
    return Check(
        ok=document["ok"],
        tasks=Table(tasks),
        vcpus=Table(_without(vcpu, "tasks") for vcpu in vcpus),
        document=analysis,
    )


def plan(
    file: Path, *, objective: str | None = None, seed: int = 1, time_s: float | None = None
) -> Plan:
    """Plans a description (.toml): decides what it leaves open. A plan (.dts, .dtb) is read.

    Args:
        file: the description or plan.
        objective: the objective of the plan, as for ``bulkhead plan --objective``:
            ``"least-time"``, ``"most-slack=2,least-time=1"``, ...; ``None``: what the description
            says, or ``"most-slack"``.
        seed: seed of the random numbers of the search: the same one leads to the same plan.
        time_s: search for this long; ``None``: until a number of candidates was tried.

    Raises:
        DescriptionError: the file has mistakes, or no such VM as the objective names.
        NoPlanError: there is no plan.
        BulkheadError: the file cannot be read, its platform cannot be booted, there is no such
            objective, or the file is a plan, which leaves nothing to an objective or a search.
    """
    refuse_others(seed=seed)
    document = json.loads(_bulkhead.plan(os.fspath(file), objective, seed, time_s))
    report = document["report"]
    return Plan(
        ok=document["ok"],
        name=document["name"],
        dts=document["dts"],
        total_ppm=report["total_ppm"],
        tasks=Table(report["tasks"]),
        vcpus=Table(report["vcpus"]),
        pcpus=Table(report["pcpus"]),
        document=document["analysis"],
        search=document["search"],
    )


def simulate(
    file: Path,
    until_ns: int | None = 10_000_000_000,
    *,
    seed: int = 1,
    execution: Literal["worst", "uniform"] = "worst",
    assume: Literal["busy", "idle"] = "busy",
    contention: Literal["stream", "worst", "none"] = "stream",
    jobs: bool = False,
) -> Simulation:
    """Simulates a description (.toml) or a plan (.dts, .dtb), as ``bulkhead sim`` does.

    Args:
        file: the description or plan.
        until_ns: simulated time; ``None``: the last offset and twice the time after which all repeats.
        seed: equal seeds give equal simulations.
        execution: each job for its longest time, or random times.
        assume: what VCPUs without tasks do, and those of Linux besides their tasks.
        contention: how memory accesses of PCPUs delay each other.
        jobs: whether to keep each complete job.

    Raises:
        DescriptionError: the file has mistakes.
        NoPlanError: there is no plan for what the description leaves open.
        BulkheadError: the file cannot be read, or the system cannot be simulated.
    """
    refuse_others(until_ns=until_ns, seed=seed)
    text, completed = _bulkhead.simulate(
        os.fspath(file), until_ns, seed, execution, assume, contention, jobs
    )
    document = json.loads(text)
    tasks: list[dict[str, Any]] = document["tasks"]
    vcpus: list[dict[str, Any]] = document["vcpus"]
    return Simulation(
        simulated_ns=document["simulated_ns"],
        events=document["events"],
        overload=document["overload"],
        tasks=Table(_without(task, "place") for task in tasks),
        vcpus=Table(_with_accesses(vcpu) for vcpu in vcpus),
        jobs=None if completed is None else _jobs(tasks, completed),
    )


def _with_accesses(vcpu: dict[str, Any]) -> dict[str, Any]:
    """A VCPU whose memory accesses are columns; they are 0 where none are simulated."""
    memory: dict[str, Any] = vcpu["memory"] or {}
    columns = ("accesses", "throttled_ns", "delayed_ns")
    return {**_without(vcpu, "memory"), **{name: memory.get(name, 0) for name in columns}}


def _jobs(tasks: list[dict[str, Any]], completed: _bulkhead.Jobs) -> Table:
    names: dict[tuple[int, int, int], tuple[str, int, str]] = {}
    count: dict[tuple[int, int], int] = {}
    for task in tasks:
        place = (task["pcpu"], task["place"])
        index = count.get(place, 0)
        count[place] = index + 1
        names[place[0], place[1], index] = (task["vm"], task["vcpu"], task["task"])
    pcpus, places, indices, completions, responses = completed
    of_job = [names[key] for key in zip(pcpus, places, indices)]
    return Table.of_columns(
        {
            "vm": [name[0] for name in of_job],
            "vcpu": [name[1] for name in of_job],
            "task": [name[2] for name in of_job],
            "release_ns": [end - time for end, time in zip(completions, responses)],
            "completion_ns": completions,
            "response_ns": responses,
        }
    )
