"""Runs, proofs and traces of real boots. The guests must have been built (``cargo xtask build``)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import bulkhead
import pytest

ROOT = Path(__file__).parents[2]

TASKS = {
    "fast": ("5ms", "120us", "5ms"),
    "medium": ("10ms", "320us", "10ms"),
    "slow": ("20ms", "1.1ms", "20ms"),
}
"""Period, execution time and deadline of the tasks of ``rt-demo``, the one with the highest priority first."""


def description(folder: Path, deadline: str = "5ms", seconds: int = 1) -> Path:
    """A system with one guest, whose first task has this deadline."""
    kernel = ROOT / "build" / "guests" / "rt-demo.bin"
    text = (
        'platform = "qemu-virt"\n[[vm]]\nname = "rt"\nboot = "raw"\nmemory = "16MiB"\n'
        f'kernel = "{kernel}"\nbootargs = "rt.seconds={seconds}"\n'
    )
    for priority, (name, times) in zip((9, 8, 7), TASKS.items()):
        period, wcet, end = times
        end = deadline if name == "fast" else end
        wcet = "40us" if end == "50us" else wcet
        text += f'[[vm.task]]\nname = "{name}"\nperiod = "{period}"\nwcet = "{wcet}"\n'
        text += f'deadline = "{end}"\npriority = {priority}\n'
    file = folder / "rt.toml"
    file.write_text(text)
    return file


def pair(folder: Path) -> Path:
    """Two VMs that share the cache, each with colours of its own."""

    def vm(name: str, colors: str, kernel: str) -> str:
        path = ROOT / "build" / "guests" / kernel
        return (
            f'[[vm]]\nname = "{name}"\nboot = "raw"\nmemory = "16MiB"\ncolors = "{colors}"\n'
            f'kernel = "{path}"\non_reset = "stop"\n'
        )

    text = '[platform]\nboard = "qemu-virt"\nhypervisor_colors = "15"\n'
    text += vm("rt", "0-6", "rt-demo.bin") + 'critical = true\nbootargs = "rt.seconds=1"\n'
    for name, (period, wcet, _) in TASKS.items():
        text += f'[[vm.task]]\nname = "{name}"\nperiod = "{period}"\nwcet = "{wcet}"\naccesses = 4000\n'
    text += vm("noise", "7-14", "rt-leech.bin")
    text += 'bootargs = "leech.take=copy:2MiB"\nbandwidth = "64MB/s"\n'
    file = folder / "pair.toml"
    file.write_text(text)
    return file


@pytest.fixture(autouse=True)
def in_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def command(*arguments: str | Path) -> tuple[int, dict[str, object]]:
    """The exit status of the command, and its document."""
    program = os.environ.get("BULKHEAD_COMMAND")
    if program is None:
        pytest.skip("BULKHEAD_COMMAND does not name the command bulkhead (`make test-python` does)")
    done = subprocess.run(
        [program, "--json", *map(str, arguments)], capture_output=True, text=True, timeout=600
    )
    document = json.loads(done.stdout)
    assert isinstance(document, dict)
    return done.returncode, document


def without_host(document: dict[str, object]) -> dict[str, object]:
    """A document of a run without what differs from run to run: times of the host, and dates."""
    names = {"elapsed_ms", "first_line_ms", "last_line_ms", "made"}

    def kept(value: object) -> object:
        if isinstance(value, dict):
            return {name: kept(inner) for name, inner in value.items() if name not in names}
        return [kept(inner) for inner in value] if isinstance(value, list) else value

    result = kept(document)
    assert isinstance(result, dict)
    return result


def test_a_run_has_the_numbers_of_the_command(tmp_path: Path) -> None:
    file = description(tmp_path)
    run = bulkhead.run(file, until_off=True, timeout_s=180)
    assert run.ok and run.result == "ok" and run.problems == () and run.times == "turns"
    assert run.tasks["task"] == ["fast", "medium", "slow"] and run.tasks["ok"] == [True] * 3
    assert run.tasks["jobs"] == [200, 100, 50] and run.tasks["misses"] == [0, 0, 0]
    bounds = bulkhead.check(file).tasks["wcrt_ns"]
    assert run.tasks["bound_ns"] == bounds
    assert run.vms.row(0)["state"] == "off" and run.vms["exits"][0] > 0
    assert (run.owners, run.evictions, run.trace) == (None, None, None)
    assert "power off" in Path(run.log_file).read_text()
    frame = run.tasks.to_pandas()
    assert frame.set_index("task").loc["slow", "response_max_ns"] > 1_000_000

    status, document = command("run", file, "--deterministic", "--until-off")
    assert status == 0
    assert without_host(document) == without_host(run.document)


def test_a_missed_deadline_is_no(tmp_path: Path) -> None:
    run = bulkhead.run(description(tmp_path, deadline="50us"), until_off=True, timeout_s=180)
    assert (run.ok, run.result) == (False, "failed")
    assert run.problems == ("task `fast` of VM `rt` missed 200 of 200 deadlines",)
    assert run.tasks["ok"] == [False, True, True]


def test_counts_of_caches_have_a_row_for_each_owner(tmp_path: Path) -> None:
    file, scope = pair(tmp_path), tmp_path / "scope"
    options = ["time=model"]
    run = bulkhead.run(file, cachescope=scope, cachescope_options=options, timeout_s=3)
    assert run.result == "timed-out" and run.times == "exact"
    assert run.owners is not None and run.evictions is not None
    assert {"hypervisor", "rt", "noise"} <= set(run.owners["owner"])
    across = [
        row["evictions"]
        for row in run.evictions
        if {row["came"], row["went"]} == {"rt", "noise"}
    ]
    assert sum(across) == run.document["cachescope"]["cross_vm_evictions"] == 0
    assert sum(run.owners["accesses"]) > 0


def test_exact_times_are_compared_with_bounds(tmp_path: Path) -> None:
    file = description(tmp_path)
    run = bulkhead.run(file, short_turns=True, until_off=True, timeout_s=180)
    assert run.ok and run.times == "exact" and run.tasks["ok"] == [True] * 3
    file.write_text(file.read_text().replace("120us", "50us"))
    run = bulkhead.run(file, short_turns=True, until_off=True, timeout_s=180)
    assert not run.ok and "longer than its bound" in run.problems[0]
    assert run.tasks["ok"][0] is False and run.tasks["misses"] == [0, 0, 0]


def test_a_run_that_takes_too_long_is_no(tmp_path: Path) -> None:
    run = bulkhead.run(description(tmp_path, seconds=600), timeout_s=2)
    assert (run.ok, run.result) == (False, "timed-out")
    assert run.problems[0].startswith("it timed out after 2.")


def test_traces_have_records_jobs_and_responses(tmp_path: Path) -> None:
    file = tmp_path / "run.trace"
    run = bulkhead.run(description(tmp_path), trace=file, until_off=True, timeout_s=180)
    assert run.ok and run.trace == str(file)
    trace = bulkhead.trace(file)
    assert (trace.system, trace.origin, trace.lost, trace.cut_off) == ("rt", "hypervisor", 0, False)
    assert len(trace.records) == run.document["trace"]["records"]
    for name in ("task", "jobs", "deadline_ns"):
        assert trace.tasks[name] == run.tasks[name]
    assert trace.tasks["missed_deadlines"] == run.tasks["misses"]
    for name in ("response_min_ns", "response_mean_ns"):
        assert trace.tasks[name] == run.tasks[name]
    # A guest may know of a response that is longer than its marks tell.
    for of_trace, of_run in zip(trace.tasks, run.tasks):
        assert of_trace["response_max_ns"] <= of_run["response_max_ns"]

    jobs = trace.jobs.to_pandas()
    complete = jobs.dropna(subset=["response_ns"])
    assert complete.groupby("task").size().to_dict() == {"fast": 200, "medium": 100, "slow": 50}
    assert (complete["completion_ns"] - complete["release_ns"] == complete["response_ns"]).all()
    most = complete.groupby("task")["response_ns"].max()
    assert most.tolist() == trace.tasks["response_max_ns"]
    finished = [row for row in trace.records if row["step"] == "finish"]
    assert len(finished) == len(complete)

    program = os.environ.get("BULKHEAD_COMMAND")
    if program is not None:
        export = [program, "trace", "export", str(file), "--to", "csv", "-o", "-"]
        text = subprocess.run(export, capture_output=True, text=True, check=True).stdout
        shown = [
            ",".join("" if value is None else str(value) for value in row.values())
            for row in trace.records
        ]
        assert text.splitlines() == [",".join(trace.records.columns), *shown]


def test_a_proof_has_the_numbers_of_the_command(tmp_path: Path) -> None:
    file = pair(tmp_path)
    proof = bulkhead.prove(file, tmp_path / "here", simulate_ns=10**9)
    assert proof.failures == () and proof.ok and proof.schedulable_with
    assert Path(proof.report) == tmp_path / "here" / "report.html" and Path(proof.report).is_file()
    kept = json.loads((tmp_path / "here" / "results.json").read_text())
    assert kept == proof.document
    assert proof.executed_with.cross_vm_evictions == 0
    assert proof.executed_without is not None
    assert proof.executed_without.cross_vm_evictions > 0
    for row in proof.tasks:
        for part in ("simulated", "with"):
            assert row[f"{part}_response_max_ns"] <= row["bound_with_ns"]
            assert row[f"{part}_missed_deadlines"] == 0 < row[f"{part}_jobs"]
    assert proof.budgets["vm"] == ["noise"]

    status, document = command("prove", file, "-o", tmp_path / "there", "--simulate", "1s")
    assert status == 0, document["failures"]
    assert document["tasks"] == proof.document["tasks"]
    for row, task in zip(proof.tasks, proof.document["tasks"]):
        for part in ("simulated", "with", "without"):
            for name, value in task[part].items():
                assert row[f"{part}_{name}"] == value


def test_mistakes_are_told_as_the_command_tells_them(tmp_path: Path) -> None:
    file = description(tmp_path)

    def refused(arguments: list[str], raised: pytest.ExceptionInfo[bulkhead.BulkheadError]) -> None:
        program = os.environ.get("BULKHEAD_COMMAND")
        if program is not None:
            done = subprocess.run([program, *arguments], capture_output=True, text=True)
            assert done.returncode == 2
            assert str(raised.value).strip() in done.stderr

    missing = str(tmp_path / "missing.toml")
    with pytest.raises(bulkhead.BulkheadError, match="cannot read .*missing.toml") as raised:
        bulkhead.run(missing)
    refused(["run", missing], raised)
    with pytest.raises(bulkhead.BulkheadError, match="there is no VM `x`") as raised:
        bulkhead.run(file, append={"x": "quiet"})
    refused(["run", str(file), "--append", "x=quiet"], raised)
    with pytest.raises(bulkhead.BulkheadError, match="needs `deterministic`"):
        bulkhead.run(file, deterministic=False, short_turns=True)
    with pytest.raises(bulkhead.BulkheadError, match="a timeout of 0 s"):
        bulkhead.run(file, timeout_s=0)
    with pytest.raises(bulkhead.BulkheadError, match="does not set itself"):
        bulkhead.run(file, cachescope=tmp_path / "scope", cachescope_options=["out=x"])

    wrong = tmp_path / "wrong.toml"
    wrong.write_text(file.read_text().replace("memory", "memry"))
    for function in (bulkhead.run, bulkhead.prove):
        with pytest.raises(bulkhead.DescriptionError, match="wrong.toml:5:1") as error:
            function(wrong)
        assert error.value.line == 5
    refused(["run", str(wrong)], error)

    plan = tmp_path / "rt.dts"
    plan.write_text(bulkhead.plan(file).dts)
    with pytest.raises(bulkhead.BulkheadError, match="is a plan, which has no tasks") as raised:
        bulkhead.prove(plan, tmp_path / "out")
    refused(["prove", str(plan)], raised)
    with pytest.raises(bulkhead.BulkheadError, match="rt.toml: ") as raised:
        bulkhead.trace(file)
    refused(["trace", "export", str(file), "--to", "csv"], raised)
    assert not (tmp_path / "out").exists()


def children(process: int) -> list[int]:
    """The processes that a process started, as long as they run."""
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True)
    return [int(word) for word in found.stdout.split()]


def is_running(process: int) -> bool:
    status = Path(f"/proc/{process}/stat")
    try:
        return status.read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_machine_outlives_python(tmp_path: Path, how: signal.Signals) -> None:
    file, trace = description(tmp_path, seconds=3600), tmp_path / "run.trace"
    text = (
        "import bulkhead\n"
        "try:\n"
        f"    bulkhead.run({str(file)!r}, trace={str(trace)!r}, log={str(tmp_path / 'log')!r})\n"
        "except KeyboardInterrupt:\n"
        "    print('ended')\n"
    )
    python = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)
    log = tmp_path / "log"
    while not (log.exists() and "ready" in log.read_text()):
        assert python.poll() is None
        time.sleep(0.05)
    machines = children(python.pid)
    assert machines
    python.send_signal(how)
    out, _ = python.communicate(timeout=60)
    if how == signal.SIGINT:
        assert (out, python.returncode) == ("ended\n", 0)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "rt.toml"]
    for _ in range(100):
        if not any(is_running(machine) for machine in machines):
            return
        time.sleep(0.1)
    raise AssertionError(f"{machines} still run")


def test_an_interrupted_proof_writes_nothing(tmp_path: Path) -> None:
    file, out = pair(tmp_path), tmp_path / "out"
    text = (
        "import bulkhead\n"
        "try:\n"
        f"    bulkhead.prove({str(file)!r}, {str(out)!r}, simulate_ns=10**9)\n"
        "except KeyboardInterrupt:\n"
        "    print('ended')\n"
    )
    python = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)
    while not list(tmp_path.glob("out/*/without/console.log")):
        assert python.poll() is None
        time.sleep(0.01)
    time.sleep(0.5)
    machines = children(python.pid)
    python.send_signal(signal.SIGINT)
    out_text, _ = python.communicate(timeout=60)
    assert (out_text, python.returncode) == ("ended\n", 0)
    assert machines and not any(is_running(machine) for machine in machines)
    assert not out.exists()
