"""Tables, and what they become."""

from __future__ import annotations

import bulkhead
import pytest

TABLE = bulkhead.Table(
    [
        {"task": "fast", "wcrt_ns": 5, "ok": True},
        {"task": "slow", "wcrt_ns": None, "ok": False},
    ]
)


def test_rows_and_columns() -> None:
    assert TABLE.columns == ["task", "wcrt_ns", "ok"]
    assert len(TABLE) == 2 and TABLE.row(1)["wcrt_ns"] is None
    assert [row["task"] for row in TABLE] == ["fast", "slow"]
    assert TABLE == bulkhead.Table.of_columns({name: TABLE[name] for name in TABLE.columns})
    assert len(bulkhead.Table([])) == 0
    with pytest.raises(ValueError):
        bulkhead.Table.of_columns({"a": [1], "b": []})


def test_missing_numbers_stay_whole_in_pandas() -> None:
    frame = TABLE.to_pandas()
    assert str(frame["wcrt_ns"].dtype) == "Int64" and frame["wcrt_ns"].isna().tolist() == [
        False,
        True,
    ]
    assert str(frame["ok"].dtype) == "bool"


def test_arrow_has_nulls() -> None:
    table = TABLE.to_arrow()
    assert table.column("wcrt_ns").null_count == 1
    assert table.to_pylist() == list(TABLE)
