"""What results look like: a line in a terminal, a table in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .table import Table

ROWS = 50
"""Rows of a table that a notebook shows."""


def line(name: str, facts: Mapping[str, object]) -> str:
    """A result in a line: ``<Check: ok=True, tasks=3>``."""
    return f"<{name}: {', '.join(f'{key}={value!r}' for key, value in facts.items())}>"


def table(shown: Table) -> str:
    """A table as HTML: its first rows, and how many there are."""
    count = min(len(shown), ROWS)
    head = "".join(f"<th>{escape(name)}</th>" for name in shown.columns)
    rows = "".join(
        f"<tr>{''.join(_cell(value) for value in shown.row(index).values())}</tr>"
        for index in range(count)
    )
    rest = "" if count == len(shown) else f"<p>{count} of {len(shown)} rows</p>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{rest}"


def page(title: str, sentences: Iterable[str], tables: Mapping[str, Table | None]) -> str:
    """A result as HTML: a line, sentences about it, and its tables that have rows."""
    parts = [f"<p><strong>{escape(title)}</strong></p>"]
    parts.extend(f"<p>{escape(sentence)}</p>" for sentence in sentences)
    for name, shown in tables.items():
        if shown is not None and len(shown):
            parts.append(f"<p>{escape(name)}</p>{table(shown)}")
    return "".join(parts)


def _cell(value: object) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f'<td style="text-align: right">{value}</td>'
    return f'<td style="text-align: left">{"" if value is None else escape(str(value))}</td>'
