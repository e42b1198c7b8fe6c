"""Bounds, plans and simulations of described systems."""

from __future__ import annotations

import errno
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import bulkhead
import pytest

SYSTEMS = Path(__file__).parents[2] / "systems"
MANIFEST = Path(__file__).parents[1] / "Cargo.toml"

DESCRIPTION = """platform = "qemu-virt"

[[vm]]
name = "rt"
boot = "raw"
memory = "16MiB"
kernel = "rt.bin"

[[vm.task]]
name = "control"
period = "5ms"
wcet = "1ms"

[[vm.task]]
name = "logging"
period = "20ms"
wcet = "3ms"
"""


@pytest.fixture
def description(tmp_path: Path) -> Path:
    file = tmp_path / "system.toml"
    file.write_text(DESCRIPTION)
    return file


def test_bounds_are_those_of_the_tasks(description: Path) -> None:
    check = bulkhead.check(description)
    assert check.ok
    assert check.tasks["task"] == ["control", "logging"]
    assert check.vcpus.row(0)["vm"] == "rt"
    # The same bounds without a description, which know nothing of the hypervisor's time.
    ms = 1_000_000
    tasks = [bulkhead.Task(1 * ms, 5 * ms), bulkhead.Task(3 * ms, 20 * ms)]
    plain = bulkhead.response_times(tasks)["wcrt_ns"]
    assert plain == [1 * ms, 4 * ms]
    for task, bound in zip(check.document["pcpus"][0]["vcpus"][0]["tasks"], plain):
        times = {term["term"]: term["time_ns"] for term in task["terms"]}
        overhead = sum(time for term, time in times.items() if term.startswith("overhead"))
        assert task["wcrt_ns"] == bound + overhead > bound


def test_overload_has_a_reason() -> None:
    bounds = bulkhead.response_times([bulkhead.Task(3, 4), bulkhead.Task(3, 4)])
    assert bounds["ok"] == [True, False]
    assert bounds["failure"] == [None, "overload"]
    with pytest.raises(bulkhead.BulkheadError, match="task 0: the execution time is 0"):
        bulkhead.response_times([bulkhead.Task(0, 4)])


def test_plans_say_what_was_chosen() -> None:
    plan = bulkhead.plan(SYSTEMS / "planned.toml")
    assert plan.ok and plan.dts.startswith("/dts-v1/;")
    budgets = plan.vcpus["budget_ns"]
    assert any(budget is not None and budget > 0 for budget in budgets)
    assert plan.total_ppm == sum(plan.pcpus["load_ppm"])


def test_plans_are_read_back(tmp_path: Path) -> None:
    plan = bulkhead.plan(SYSTEMS / "servers.toml")
    file = tmp_path / "servers.dts"
    file.write_text(plan.dts)
    assert bulkhead.plan(file).dts == plan.dts


def test_plans_are_best_at_what_is_asked_for() -> None:
    file = SYSTEMS / "planned.toml"
    plain = bulkhead.plan(file)
    assert plain.search["slack_ppm"] > 0 and not plain.search["cut"]
    least = bulkhead.plan(file, objective="least-time")
    assert least.ok and least.total_ppm < plain.total_ppm
    # The seed decides, and time ends a search.
    assert bulkhead.plan(file, seed=1).dts == plain.dts
    longer = bulkhead.plan(file, objective="least-time", seed=7, time_s=0.5)
    assert longer.ok and longer.search["cut"] and longer.search["candidates"] > 0


def test_searches_that_cannot_be_are_refused(tmp_path: Path) -> None:
    file = SYSTEMS / "planned.toml"
    with pytest.raises(bulkhead.BulkheadError, match="expected `least-time`"):
        bulkhead.plan(file, objective="fast")
    with pytest.raises(bulkhead.DescriptionError, match="there is no VM `none`"):
        bulkhead.plan(file, objective="most-bandwidth=none")
    with pytest.raises(bulkhead.BulkheadError, match="of 0 s"):
        bulkhead.plan(file, time_s=0.0)
    finished = tmp_path / "finished.dts"
    finished.write_text(bulkhead.plan(file).dts)
    with pytest.raises(bulkhead.BulkheadError, match="in which nothing is open"):
        bulkhead.plan(finished, objective="least-time")


def test_simulations_stay_below_bounds() -> None:
    file = SYSTEMS / "servers.toml"
    bounds = {(row["vm"], row["vcpu"], row["task"]): row for row in bulkhead.check(file).tasks}
    simulation = bulkhead.simulate(file, 1_000_000_000, jobs=True)
    assert simulation.simulated_ns == 1_000_000_000 and simulation.missed_deadlines == 0
    jobs = simulation.jobs
    assert jobs is not None and len(jobs) == sum(simulation.tasks["jobs"])
    for row in simulation.tasks:
        of_task = [
            job["response_ns"]
            for job in jobs
            if (job["vm"], job["vcpu"], job["task"]) == (row["vm"], row["vcpu"], row["task"])
        ]
        assert max(of_task) == row["response_max_ns"]
        assert row["response_max_ns"] <= bounds[row["vm"], row["vcpu"], row["task"]]["wcrt_ns"]
    assert bulkhead.simulate(file, 1_000_000_000).jobs is None


def test_mistakes_have_their_place(description: Path) -> None:
    description.write_text(DESCRIPTION.replace("5ms", "5").replace("memory", "memry"))
    with pytest.raises(bulkhead.DescriptionError) as raised:
        bulkhead.check(description)
    error = raised.value
    assert (error.file, error.line, error.column) == (str(description), 6, 1)
    assert len(error.mistakes) > 1
    assert error.mistakes[0].help is not None and "memory" in error.mistakes[0].help
    assert "system.toml:6:1" in str(error)
    assert isinstance(error, ValueError)


def test_files_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    with pytest.raises(bulkhead.BulkheadError, match="cannot read"):
        bulkhead.check(tmp_path / "nothing.toml")
    file = tmp_path / "system.yaml"
    file.write_text("")
    with pytest.raises(bulkhead.BulkheadError, match="neither a description"):
        bulkhead.plan(file)


def test_what_has_no_plan_is_told(description: Path) -> None:
    short = DESCRIPTION.replace('wcet = "3ms"', 'wcet = "19ms"')
    vcpu = '[[vm.vcpu]]\nserver = "deferrable"\n\n'
    short = short.replace("[[vm.task]]", vcpu + "[[vm.task]]", 1)
    description.write_text(short)
    with pytest.raises(bulkhead.NoPlanError):
        bulkhead.plan(description)


def test_other_threads_go_on(description: Path) -> None:
    """What is computed leaves the interpreter lock."""
    counted = 0
    done = threading.Event()

    def simulate() -> None:
        bulkhead.simulate(description, 2_000_000_000_000)
        done.set()

    thread = threading.Thread(target=simulate)
    thread.start()
    while not done.is_set():
        counted += 1
    thread.join()
    assert counted > 10_000


def test_ctrl_c_ends_a_simulation(description: Path) -> None:
    text = (
        "import bulkhead, sys\n"
        "try:\n"
        "    print('begin', flush=True)\n"
        f"    bulkhead.simulate({str(description)!r}, 10**18)\n"
        "except KeyboardInterrupt:\n"
        "    print('ended')\n"
    )
    process = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "begin\n"
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert (out, process.returncode) == ("ended\n", 0)


def test_documents_are_those_of_the_command() -> None:
    """Names and units are documented once, for both."""
    document = bulkhead.check(SYSTEMS / "servers.toml").document
    assert set(document) == {"schedulable", "pcpus", "overheads_unknown"}
    json.dumps(document)


def test_the_version_is_that_of_the_crate() -> None:
    assert f'\nversion = "{bulkhead.__version__}"\n' in MANIFEST.read_text()


def test_results_are_shown_in_a_line_and_in_notebooks(description: Path) -> None:
    check = bulkhead.check(description)
    plan = bulkhead.plan(description)
    simulation = bulkhead.simulate(description, 10**8)
    assert repr(check) == "<Check: ok=True, tasks=2, vcpus=1>"
    for result in (check, plan, simulation):
        assert len(repr(result)) < 120 and "\n" not in repr(result)
        shown = result._repr_html_()
        for task in result.tasks["task"]:
            assert f">{task}</td>" in shown


def test_files_are_told_as_the_system_tells_them(tmp_path: Path) -> None:
    missing = tmp_path / "nothing.toml"
    for read in (bulkhead.check, bulkhead.plan, bulkhead.simulate, bulkhead.trace):
        with pytest.raises(FileNotFoundError, match="cannot read .*nothing.toml") as raised:
            read(missing)
        assert isinstance(raised.value, bulkhead.FileError)
        assert raised.value.errno == errno.ENOENT
        assert raised.value.filename == str(missing)
        with pytest.raises(bulkhead.FileError) as other:
            read(tmp_path)
        assert isinstance(other.value, bulkhead.BulkheadError)
        assert not isinstance(other.value, FileNotFoundError)
        assert other.value.errno == errno.EISDIR
        assert other.value.filename == str(tmp_path)
    colon = tmp_path / "a: b.toml"
    with pytest.raises(FileNotFoundError) as named:
        bulkhead.check(colon)
    assert named.value.filename == str(colon)
    with pytest.raises(FileNotFoundError) as named:
        bulkhead.Experiment.read(colon)
    assert named.value.filename == str(colon)


@pytest.mark.parametrize("number", [-1, 2**64])
def test_numbers_that_are_too_small_or_large_are_refused(description: Path, number: int) -> None:
    refused = f"is {number}: expected a whole number from 0 to {2**64 - 1}"
    with pytest.raises(bulkhead.BulkheadError, match=f"until_ns {refused}"):
        bulkhead.simulate(description, number)
    with pytest.raises(bulkhead.BulkheadError, match=f"seed {refused}"):
        bulkhead.plan(description, seed=number)
    with pytest.raises(bulkhead.BulkheadError, match=f"simulate_ns {refused}"):
        bulkhead.prove(description, simulate_ns=number)
