"""Random task sets: the same seed gives the same numbers on all machines and in all versions.

An experiment has a ``seed``, and each of its task sets a ``stream`` of its own.

>>> [round(share, 3) for share in uunifast(3, 0.6, seed=1, stream=0)] == [
...     round(share, 3) for share in uunifast(3, 0.6, seed=1, stream=0)
... ]
True
"""

from __future__ import annotations

import json

from . import _bulkhead
from .table import Table


def uunifast(count: int, total: float, *, seed: int, stream: int = 0) -> list[float]:
    """Draws ``count`` utilisations with the sum ``total``, uniformly distributed (Bini and Buttazzo)."""
    return _bulkhead.uunifast(seed, stream, count, total)


def uunifast_discard(
    count: int,
    total: float,
    limit: float = 1.0,
    *,
    seed: int,
    stream: int = 0,
    trials: int = 100_000,
) -> list[float]:
    """The same, none above a limit, by trial.

    Raises:
        BulkheadError: no trial succeeded, or the numbers make no sense.
    """
    return _bulkhead.uunifast_discard(seed, stream, count, total, limit, trials)


def log_uniform(
    count: int, min_ns: int, max_ns: int, step_ns: int = 1, *, seed: int, stream: int = 0
) -> list[int]:
    """Draws ``count`` periods that are multiples of ``step_ns``, equally many in each octave."""
    return _bulkhead.log_uniform(seed, stream, count, min_ns, max_ns, step_ns)


def vcache(
    *,
    seed: int,
    stream: int = 0,
    vms: int = 2,
    tasks: tuple[int, int] = (10, 15),
    utilization: float = 3.0,
    colors: int = 32,
) -> Table:
    """The tasks of a random system of vCache, section 6.2, Table 3.

    Columns are ``vm, vcpu_period_ns, period_ns, wcet_ns`` (a list: with 1, 2, ... colours) and ``working_set_bytes``.
    """
    fewest, most = tasks
    rows = _bulkhead.vcache(seed, stream, vms, (fewest, most), utilization, colors)
    return Table(json.loads(rows))


def vmpcp(
    *,
    seed: int,
    stream: int = 0,
    pcpus: int = 8,
    vcpus_per_pcpu: int = 2,
    tasks_per_vcpu: int = 3,
    utilization: float = 0.15,
    sections_per_task: int = 1,
    lockers: int = 2,
    section_ns: int = 10_000,
) -> Table:
    """The tasks of a random system of vMPCP, section V.A, Table I.

    Columns are ``pcpu, vcpu, priority`` (of the VCPU: a larger number goes first) ``, period_ns, wcet_ns`` and
    ``mutexes`` (a list).
    """
    rows = _bulkhead.vmpcp(
        seed,
        stream,
        pcpus,
        vcpus_per_pcpu,
        tasks_per_vcpu,
        utilization,
        sections_per_task,
        lockers,
        section_ns,
    )
    return Table(json.loads(rows))
