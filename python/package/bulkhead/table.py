"""Results in rows and columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, overload

from . import views

if TYPE_CHECKING:
    import pandas
    import pyarrow

Row = dict[str, Any]


class Table:
    """Rows with the same columns, in lists; as pandas or Arrow on demand.

    >>> table = Table([{"task": "fast", "wcrt_ns": 5}, {"task": "slow", "wcrt_ns": None}])
    >>> table["task"]
    ['fast', 'slow']
    >>> len(table), table.row(1)
    (2, {'task': 'slow', 'wcrt_ns': None})
    >>> table[-1]["task"], table[:1]["task"], table[["task"]].columns
    ('slow', ['fast'], ['task'])
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        kept = [dict(row) for row in rows]
        names = dict.fromkeys(name for row in kept for name in row)
        self._columns: dict[str, list[Any]] = {
            name: [row.get(name) for row in kept] for name in names
        }
        self._length = len(kept)

    @classmethod
    def of_columns(cls, columns: Mapping[str, list[Any]]) -> Table:
        """A table out of columns of the same length."""
        lengths = {len(column) for column in columns.values()}
        if len(lengths) > 1:
            raise ValueError("the columns differ in length")
        table = cls([])
        table._columns = dict(columns)
        table._length = lengths.pop() if lengths else 0
        return table

    @property
    def columns(self) -> list[str]:
        """Names of the columns; what they count with its unit."""
        return list(self._columns)

    @overload
    def __getitem__(self, key: str) -> list[Any]: ...

    @overload
    def __getitem__(self, key: int) -> Row: ...

    @overload
    def __getitem__(self, key: slice | list[str]) -> Table: ...

    def __getitem__(self, key: str | int | slice | list[str]) -> list[Any] | Row | Table:
        """A column by its name, a row by its place, a table of some rows (``[2:5]``) or columns (``[["a", "b"]]``)."""
        if isinstance(key, str):
            return self._columns[key]
        if isinstance(key, slice):
            return Table.of_columns({name: it[key] for name, it in self._columns.items()})
        if isinstance(key, list):
            return Table.of_columns({name: self._columns[name] for name in key})
        return self.row(key)

    def __len__(self) -> int:
        return self._length

    def row(self, index: int) -> Row:
        """A row by its place; negative ones count from the end.

        Raises:
            IndexError: there is no such row.
        """
        if not -self._length <= index < self._length:
            raise IndexError(f"row {index} of {self._length}")
        return {name: column[index] for name, column in self._columns.items()}

    def __iter__(self) -> Iterator[Row]:
        return (self.row(index) for index in range(self._length))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self._columns == other._columns

    def __repr__(self) -> str:
        return f"<Table: {self._length} rows of {', '.join(self._columns)}>"

    def _repr_html_(self) -> str:
        return views.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """As a data frame (``pip install bulkhead[pandas]``); numbers that can be missing are ``Int64``."""
        import pandas

        frame: pandas.DataFrame = pandas.DataFrame(self._columns)
        for name, column in self._columns.items():
            present = [value for value in column if value is not None]
            if present and len(present) < len(column):
                kinds = {type(value) for value in present}
                if kinds == {int}:
                    frame[name] = pandas.array(column, dtype="Int64")
                elif kinds == {bool}:
                    frame[name] = pandas.array(column, dtype="boolean")
        return frame

    def to_arrow(self) -> pyarrow.Table:
        """As an Arrow table (``pip install bulkhead[arrow]``)."""
        import pyarrow

        return pyarrow.table(self._columns)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The table for any library that reads Arrow's C streams, such as Polars and DuckDB (needs pyarrow)."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)
