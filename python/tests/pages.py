"""Pages of the documentation that are written out of the package: set this variable, and they are written anew."""

from __future__ import annotations

import os
from pathlib import Path

WRITE = "BULKHEAD_WRITE_REFERENCE"

DOCS = Path(__file__).parents[2] / "docs"


def assert_current(page: str, text: str) -> None:
    """The page below ``docs`` has this text; with :data:`WRITE` from now on."""
    file = DOCS / page
    if WRITE in os.environ:
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    kept = file.read_text() if file.exists() else ""
    assert kept == text, f"docs/{page} is not current: {WRITE}=1 make test-python"
