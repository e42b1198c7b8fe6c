"""Random task sets."""

from __future__ import annotations

import bulkhead
import pytest
from bulkhead import generate


def test_utilizations_have_their_sum_and_repeat() -> None:
    drawn = generate.uunifast(5, 0.8, seed=2017, stream=3)
    assert sum(drawn) == pytest.approx(0.8) and min(drawn) >= 0
    assert drawn == generate.uunifast(5, 0.8, seed=2017, stream=3)
    assert drawn != generate.uunifast(5, 0.8, seed=2017, stream=4)
    assert max(generate.uunifast_discard(4, 3.0, seed=1)) <= 1.0
    with pytest.raises(bulkhead.BulkheadError):
        generate.uunifast(0, 0.8, seed=1)


def test_periods_are_whole_steps() -> None:
    periods = generate.log_uniform(100, 10_000, 1_000_000, 1_000, seed=1)
    assert all(period % 1_000 == 0 and 10_000 <= period <= 1_000_000 for period in periods)
    # As many below as above the middle of the exponents.
    assert 30 < sum(period < 100_000 for period in periods) < 70


def test_systems_of_the_papers() -> None:
    table = generate.vcache(seed=1, utilization=2.0, colors=8)
    assert 10 <= len(table) <= 15 and set(table["vm"]) <= {0, 1}
    for row in table:
        wcet = row["wcet_ns"]
        assert len(wcet) == 8 and wcet == sorted(wcet, reverse=True)
    total = sum(row["wcet_ns"][0] / row["period_ns"] for row in table)
    assert total == pytest.approx(2.0, abs=1e-4)

    table = generate.vmpcp(seed=1, pcpus=4)
    assert len(table) == 4 * 2 * 3
    mutexes = [mutex for row in table for mutex in row["mutexes"]]
    assert all(mutexes.count(mutex) == 2 for mutex in set(mutexes))
    with pytest.raises(bulkhead.BulkheadError, match="5 lockers"):
        generate.vmpcp(seed=1, lockers=5)
    with pytest.raises(bulkhead.BulkheadError, match="colors is 0"):
        generate.vcache(seed=1, colors=0)
