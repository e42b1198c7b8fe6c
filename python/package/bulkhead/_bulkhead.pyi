"""The compiled part."""

from collections.abc import Callable

__version__: str

SOURCES: str
"""Digest of the sources that results depend on."""

Jobs = tuple[list[int], list[int], list[int], list[int], list[int]]
"""PCPU, place on it, place of the task, completion and response time of jobs."""

TraceRecords = tuple[
    list[int],
    list[int],
    list[int],
    list[str],
    list[str | None],
    list[int | None],
    list[str | None],
    list[int | None],
    list[str | None],
    list[int | None],
]
"""Time, ticks, PCPU, event, VM, VCPU, task, job, step, value."""

TraceJobs = tuple[
    list[str],
    list[int],
    list[str],
    list[int],
    list[int | None],
    list[int | None],
    list[int | None],
    list[int | None],
]
"""VM, VCPU, task, number, release, start, completion and response time of jobs."""

def check(file: str) -> str: ...
def plan(file: str, objective: str | None, seed: int, time_s: float | None) -> str: ...
def simulate(
    file: str,
    until_ns: int | None,
    seed: int,
    execution: str,
    assume: str,
    contention: str,
    jobs: bool,
) -> tuple[str, Jobs | None]: ...
def run(
    file: str,
    append: list[tuple[str, str]],
    deterministic: bool,
    short_turns: bool,
    cachescope: str | None,
    cachescope_options: list[str],
    trace: str | None,
    until_off: bool,
    timeout_s: float | None,
    log: str | None,
    hypervisor: str | None,
    arguments: list[str],
) -> str: ...
def prove(
    file: str,
    output: str | None,
    append: list[tuple[str, str]],
    timeout_s: float,
    simulate_ns: int,
    cachescope_options: list[str],
    hypervisor: str | None,
) -> str: ...
def trace(file: str) -> tuple[str, TraceRecords, TraceJobs]: ...
def response_times(
    tasks: list[tuple[int, int, int, int, int, int]], server: tuple[str, int, int] | None
) -> str: ...
def uunifast(seed: int, stream: int, count: int, total: float) -> list[float]: ...
def uunifast_discard(
    seed: int, stream: int, count: int, total: float, limit: float, trials: int
) -> list[float]: ...
def log_uniform(
    seed: int, stream: int, count: int, min_ns: int, max_ns: int, step_ns: int
) -> list[int]: ...
def vcache(
    seed: int, stream: int, vms: int, tasks: tuple[int, int], utilization: float, colors: int
) -> str: ...
def vmpcp(
    seed: int,
    stream: int,
    pcpus: int,
    vcpus_per_pcpu: int,
    tasks_per_vcpu: int,
    utilization: float,
    sections_per_task: int,
    lockers: int,
    section_ns: int,
) -> str: ...

class Experiment:
    """An experiment whose parameters make sense at all its points."""

    def __new__(cls, name: str, text: str) -> Experiment: ...
    @property
    def title(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def parameters(self) -> list[str]: ...
    @property
    def points(self) -> int: ...
    @property
    def systems(self) -> int: ...
    @property
    def shards(self) -> int: ...
    def compute(self, shard: int) -> str: ...

class Journal:
    """The finished shards of an experiment, in a folder."""

    def __new__(cls, folder: str, experiment: Experiment) -> Journal: ...
    def open_shards(self) -> list[int]: ...
    def add(self, line: str) -> None: ...
    def run(self, jobs: int | None, progress: Callable[[int, int], object] | None) -> bool: ...
    def summary(self) -> str: ...
    def finish(self) -> str: ...
    def close(self) -> None: ...
