"""Sweeps on a Dask cluster of several processes, one of which is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import bulkhead
import pytest

from conftest import EXPERIMENT

WORKERS = 3


@dataclass
class Cluster:
    """A scheduler and its workers, each a process."""

    address: str
    workers: list[subprocess.Popen[bytes]]


def _start(program: str, *arguments: str, folder: Path) -> subprocess.Popen[bytes]:
    log = (folder / "cluster.log").open("ab")
    command = [sys.executable, "-m", f"distributed.cli.{program}", *arguments]
    return subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
    process.wait()


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    file = folder / "scheduler.json"
    local = ("--host", "127.0.0.1", "--no-dashboard")
    scheduler = _start(
        "dask_scheduler", "--port", "0", "--scheduler-file", str(file), *local, folder=folder
    )
    processes = [scheduler]
    try:
        pause = threading.Event()
        for _ in range(1200):
            if file.exists() and file.read_text().strip().endswith("}"):
                break
            assert scheduler.poll() is None, (folder / "cluster.log").read_text()
            pause.wait(0.1)
        address = json.loads(file.read_text())["address"]
        options = ("--no-nanny", "--nthreads", "1", *local)
        workers = [_start("dask_worker", address, *options, folder=folder) for _ in range(WORKERS)]
        processes.extend(workers)
        from distributed import Client

        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(WORKERS, timeout=120)
        yield Cluster(address, workers)
    finally:
        for process in reversed(processes):
            _end(process)


def test_a_lost_worker_changes_nothing(cluster: Cluster, tmp_path: Path) -> None:
    experiment = bulkhead.Experiment(EXPERIMENT)
    local = bulkhead.sweep(experiment, tmp_path / "local")
    told: list[int] = []

    def kill_one(finished: int, shards: int) -> None:
        told.append(finished)
        if finished == shards // 4:
            cluster.workers[0].send_signal(signal.SIGKILL)
            cluster.workers[0].wait()

    there = bulkhead.sweep(experiment, tmp_path / "dask", dask=cluster.address, progress=kill_one)
    assert cluster.workers[0].returncode == -signal.SIGKILL
    assert told == list(range(experiment.shards + 1))
    assert Path(there.table).read_bytes() == Path(local.table).read_bytes()
    assert there.points == local.points


def test_a_client_is_used_and_stays_open(cluster: Cluster, tmp_path: Path) -> None:
    from distributed import Client

    experiment = bulkhead.Experiment(EXPERIMENT)
    local = bulkhead.sweep(experiment, tmp_path / "local")
    client = Client(cluster.address, set_as_default=False)
    try:
        for folder in ("one", "two"):
            there = bulkhead.sweep(experiment, tmp_path / folder, dask=client)
            assert Path(there.table).read_bytes() == Path(local.table).read_bytes()
        assert client.submit(sum, [1, 2]).result() == 3
    finally:
        client.close()
    with pytest.raises(bulkhead.BulkheadError, match="the Dask client is closed"):
        bulkhead.sweep(experiment, tmp_path / "closed", dask=client)


def test_what_the_cluster_finished_is_kept(cluster: Cluster, tmp_path: Path) -> None:
    experiment = bulkhead.Experiment(EXPERIMENT)

    def interrupt(finished: int, shards: int) -> None:
        if finished == 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bulkhead.sweep(experiment, tmp_path, dask=cluster.address, progress=interrupt)
    assert len((tmp_path / "shards.jsonl").read_text().splitlines()) == 1 + 10
    told: list[int] = []
    here = bulkhead.sweep(experiment, tmp_path, progress=lambda at, _: told.append(at))
    assert told[0] == 10
    local = bulkhead.sweep(experiment, tmp_path / "local")
    assert Path(here.table).read_bytes() == Path(local.table).read_bytes()


def test_the_command_sweeps_on_a_cluster(cluster: Cluster, tmp_path: Path) -> None:
    command = os.environ.get("BULKHEAD_COMMAND")
    if command is None:
        pytest.skip("BULKHEAD_COMMAND does not name the command bulkhead (`make test-python` does)")
    (tmp_path / "e.toml").write_text(EXPERIMENT)

    def sweep(folder: str, *options: str) -> str:
        done = subprocess.run(
            [command, "sweep", "e.toml", "-o", folder, *options],
            cwd=tmp_path,
            env={**os.environ, "BULKHEAD_PYTHON": sys.executable},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.replace(folder, "FOLDER")

    assert sweep("here") == sweep("there", "--dask", cluster.address)
    tables = [(tmp_path / folder / "systems.parquet").read_bytes() for folder in ("here", "there")]
    assert tables[0] == tables[1]


def test_clusters_that_are_not_there_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bulkhead.cluster.TIMEOUT_S", 1)
    with pytest.raises(bulkhead.BulkheadError, match="there is no Dask scheduler at"):
        bulkhead.sweep(bulkhead.Experiment(EXPERIMENT), tmp_path, dask="tcp://127.0.0.1:9")


def test_dask_is_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "bulkhead.cluster", raising=False)
    monkeypatch.delattr("bulkhead.cluster", raising=False)
    with pytest.raises(bulkhead.BulkheadError, match="python\\[dask\\]"):
        bulkhead.sweep(bulkhead.Experiment(EXPERIMENT), tmp_path / "out", dask="tcp://127.0.0.1:9")
    assert not (tmp_path / "out").exists()
