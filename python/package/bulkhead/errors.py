"""What can go wrong."""

from __future__ import annotations

import errno
import json
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Mistake:
    """One mistake in an input."""

    code: str
    """Stable name of the kind of mistake, such as ``unknown-key``."""
    message: str
    """What is wrong, in one sentence."""
    file: str | None = None
    """Name of the file."""
    line: int | None = None
    """Line in the file, from 1."""
    column: int | None = None
    """Column in the line in characters, from 1."""
    node: str | None = None
    """Node and property of a plan."""
    help: str | None = None
    """What to do."""


class BulkheadError(Exception):
    """The package could not do something; the text says why, and what to do."""

    mistakes: tuple[Mistake, ...]
    """All mistakes of the input, in the order of their places."""

    def __init__(self, text: str, mistakes: str = "[]") -> None:
        super().__init__(text)
        self.mistakes = tuple(Mistake(**mistake) for mistake in json.loads(mistakes))

    @property
    def file(self) -> str | None:
        """File of the first mistake."""
        return self.mistakes[0].file if self.mistakes else None

    @property
    def line(self) -> int | None:
        """Line of the first mistake, from 1."""
        return self.mistakes[0].line if self.mistakes else None

    @property
    def column(self) -> int | None:
        """Column of the first mistake, from 1."""
        return self.mistakes[0].column if self.mistakes else None


class DescriptionError(BulkheadError, ValueError):
    """A description, plan or experiment has mistakes."""


class NoPlanError(BulkheadError):
    """No plan was found for what a description leaves open."""


class FileError(BulkheadError, OSError):
    """A file cannot be read or written: ``filename``; ``errno`` is the number of the system's error, if there is one."""

    def __init__(self, text: str, number: int | None = None, filename: str | None = None) -> None:
        BulkheadError.__init__(self, text)
        self.errno = number
        self.filename = filename

    def __str__(self) -> str:
        return str(self.args[0])


class MissingFileError(FileError, FileNotFoundError):
    """A file is not there."""


def file_error(text: str, mistakes: str = "[]") -> FileError:
    """The error for a file, out of a text that names the system's error: ``... (os error 2)``."""
    found = re.search(r"\(os error (\d+)\)", text)
    number = int(found[1]) if found else None
    # What the system says of an error has no colon; the name of a file may.
    named = re.match(r"cannot (?:read|write) (.+): [^:\n]+", text)
    kind = MissingFileError if number == errno.ENOENT else FileError
    return kind(text, number, named[1] if named else None)


def refuse_others(**numbers: int | None) -> None:
    """Refuses numbers that the compiled part cannot take."""
    for name, number in numbers.items():
        if number is not None and not 0 <= number < 2**64:
            raise BulkheadError(f"{name} is {number}: expected a whole number from 0 to {2**64 - 1}")
