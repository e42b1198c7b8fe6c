"""Tables, and what they become."""

from __future__ import annotations

import bulkhead
import pyarrow
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


def test_parts_are_rows_columns_and_tables() -> None:
    assert TABLE[0] == TABLE.row(0) and TABLE[-1] == TABLE.row(1)
    assert TABLE[1:] == bulkhead.Table([TABLE[1]])
    assert TABLE[::-1]["task"] == ["slow", "fast"]
    assert TABLE[["ok", "task"]].columns == ["ok", "task"]
    assert len(TABLE[5:]) == 0 and TABLE[5:].columns == TABLE.columns
    for place in (2, -3):
        with pytest.raises(IndexError, match=f"row {place} of 2"):
            TABLE[place]
    with pytest.raises(KeyError):
        TABLE[["deadline"]]


def test_notebooks_show_the_first_rows() -> None:
    shown = bulkhead.Table([{"task": "<b>", "wcrt_ns": None}])._repr_html_()
    assert "<th>wcrt_ns</th>" in shown and "&lt;b&gt;" in shown and "<b>" not in shown
    assert "None" not in shown and "rows" not in shown
    many = bulkhead.Table({"n": n} for n in range(1000))._repr_html_()
    assert many.count("<tr>") == 51 and "50 of 1000 rows" in many


def test_arrow_streams_have_what_tables_have() -> None:
    read = pyarrow.RecordBatchReader.from_stream(TABLE).read_all()
    assert read.to_pylist() == list(TABLE)
