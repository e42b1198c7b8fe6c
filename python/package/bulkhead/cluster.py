"""The shards of an experiment on a Dask cluster."""

from __future__ import annotations

import functools
import uuid

from distributed import Client, Future, KilledWorker, as_completed

from . import _bulkhead
from .errors import BulkheadError
from .experiments import Experiment, Progress

TIMEOUT_S = 30
"""How long to wait for the scheduler and its first worker."""

LOSSES = 10
"""How often a shard may lose its workers, each time as often as the scheduler allows."""


@functools.lru_cache(maxsize=4)
def _experiment(name: str, text: str) -> Experiment:
    return Experiment(text, name)


def compute(name: str, text: str, shard: int) -> tuple[str, str]:
    """What a worker does: the version that computed a shard, and the shard."""
    return _bulkhead.SOURCES, _experiment(name, text).compute(shard)


def run(
    experiment: Experiment,
    journal: _bulkhead.Journal,
    where: str | Client,
    progress: Progress | None = None,
) -> None:
    """Computes what is not finished on the cluster of this client, or with the scheduler at this address.

    A shard whose worker is lost is computed by another one. What is finished is in the journal, whatever happens.

    Raises:
        BulkheadError: there is no such cluster, its workers have another version, or a system fails.
    """
    if isinstance(where, Client):
        if where.asynchronous:
            raise BulkheadError(
                "the Dask client is asynchronous: make it without `asynchronous=True`"
            )
        if where.status != "running":
            raise BulkheadError(f"the Dask client is {where.status}, not connected to a scheduler")
        _wait(where)
        _run(experiment, journal, where, progress)
        return
    try:
        client = Client(where, timeout=TIMEOUT_S, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise BulkheadError(f"there is no Dask scheduler at {where}: {error}") from error
    with client:
        _wait(client)
        _run(experiment, journal, client, progress)


def _wait(client: Client) -> None:
    try:
        client.wait_for_workers(1, timeout=TIMEOUT_S)
    except TimeoutError as error:
        address = client.scheduler_info()["address"]
        raise BulkheadError(f"the scheduler at {address} has no workers") from error


def _run(
    experiment: Experiment,
    journal: _bulkhead.Journal,
    client: Client,
    progress: Progress | None,
) -> None:
    waiting = list(reversed(journal.open_shards()))
    finished = experiment.shards - len(waiting)
    losses: dict[int, int] = {}
    shards: dict[str, int] = {}

    def submit() -> Future[tuple[str, str]]:
        shard = waiting.pop()
        # Never taken for a result of an earlier run, nor shared with another client.
        key = f"bulkhead-shard-{shard}-{uuid.uuid4()}"
        shards[key] = shard
        return client.submit(compute, experiment.name, experiment.text, shard, key=key, pure=False)

    def told() -> None:
        if progress is not None:
            progress(finished, experiment.shards)

    told()
    # Enough to keep all busy, and not so many that the scheduler suffers.
    ahead = max(16, 4 * sum(client.nthreads().values()))
    first = [submit() for _ in range(min(ahead, len(waiting)))]
    running = as_completed(first, loop=client.loop)
    for future in running:
        # Once: it changes whenever workers come and go.
        status = future.status
        if status in ("lost", "pending"):
            # Its worker was lost before the result was fetched: another one computes it.
            running.add(future)
            continue
        shard = shards.pop(future.key)
        if status == "finished":
            sources, line = future.result()
            if sources != _bulkhead.SOURCES:
                raise BulkheadError(
                    "the workers have another version of the package bulkhead than this machine: "
                    "install the same one everywhere"
                )
            journal.add(line)
            finished += 1
            told()
        else:
            error = future.exception() if status == "error" else None
            losses[shard] = losses.get(shard, 0) + 1
            if not isinstance(error, KilledWorker) or losses[shard] > LOSSES:
                why = error if error is not None else "the connection to the scheduler was lost"
                raise BulkheadError(f"shard {shard} failed: {why}")
            waiting.append(shard)
        if waiting:
            running.add(submit())
