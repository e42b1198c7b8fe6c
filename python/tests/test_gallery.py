"""The gallery: notebooks that are stored without results, and pages with the results of their execution.

What a cell prints is compared with the page, unless the cell has the tag ``executed``: times of execution change with the guests.
Figures depend on the version of matplotlib: they are drawn, and kept as they are unless pages are written.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from pages import DOCS, WRITE, assert_current

GALLERY = Path(__file__).parents[1] / "gallery"
NAMES = sorted(path.stem for path in GALLERY.glob("*.ipynb"))

# Its functions have no types.
FORMAT: Any = nbformat

STYLE = """\
%config InlineBackend.figure_formats = ["svg"]
import matplotlib.pyplot
matplotlib.pyplot.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "bulkhead", "figure.constrained_layout.use": True})
"""


def execute(notebook: Any) -> None:
    """Executes the cells; figures are the same for the same data and version of matplotlib."""
    notebook.cells.insert(0, FORMAT.v4.new_code_cell(STYLE))
    os.environ["SOURCE_DATE_EPOCH"] = "0"
    folder = {"metadata": {"path": str(GALLERY)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=folder).execute()
    notebook.cells.pop(0)


def merged(outputs: list[Any]) -> list[Any]:
    """The outputs; what a cell prints may come in several parts, as its time falls."""
    found: list[Any] = []
    for output in outputs:
        if output.output_type == "stream" and found and found[-1].output_type == "stream":
            found[-1].text += output.text
        else:
            found.append(output)
    return found


def fence(kind: str, text: str) -> str:
    return f"```{kind}\n{text.rstrip()}\n```"


def page(name: str, notebook: Any, kept: str) -> tuple[str, dict[str, str]]:
    """The page with the results, and its figures by name; ``kept`` is the page that is there."""
    parts, figures = [], {}
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(fence("python", cell.source))
        for output in merged(cell.outputs):
            if output.output_type == "stream":
                printed = fence("text", output.text)
                before = kept.partition(f"{parts[-1]}\n\n")[2]
                if "executed" in cell.metadata.get("tags", []) and before and WRITE not in os.environ:
                    lines = len(printed.splitlines())
                    printed = "\n".join(before.splitlines()[:lines])
                parts.append(printed)
            elif svg := output.get("data", {}).get("image/svg+xml"):
                figure = f"{name}-{number}.svg"
                figures[figure] = svg if svg.endswith("\n") else svg + "\n"
                parts.append(f"![Figure: {cell.metadata['alt']}]({figure})")
            else:
                raise AssertionError(f"{name}: a cell shows what the page cannot: {output}")
    parts.append(f"The notebook is `python/gallery/{name}.ipynb`.")
    return "\n\n".join(parts) + "\n", figures


@pytest.mark.parametrize("name", NAMES)
def test_pages_have_what_notebooks_show(name: str) -> None:
    notebook = FORMAT.read(GALLERY / f"{name}.ipynb", as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code and not any(cell.outputs for cell in code)
    execute(notebook)
    file = DOCS / "gallery" / f"{name}.md"
    text, figures = page(name, notebook, file.read_text() if file.exists() else "")
    assert figures
    for figure, svg in figures.items():
        place = DOCS / "gallery" / figure
        if WRITE in os.environ:
            place.parent.mkdir(exist_ok=True)
            place.write_text(svg)
        assert place.exists()
    assert_current(f"gallery/{name}.md", text)


def test_there_is_a_gallery() -> None:
    assert NAMES == ["chains", "plan", "sweep", "trace"]
