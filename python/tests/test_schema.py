"""Schemas of the command, as taplo reads them, which editors use."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def lint(folder: Path, schema: str, files: list[Path]) -> subprocess.CompletedProcess[str]:
    """What taplo says of files, with a schema that the command prints."""
    program = os.environ.get("BULKHEAD_COMMAND")
    if program is None:
        pytest.skip("BULKHEAD_COMMAND does not name the command bulkhead (`make test-python` does)")
    printed = subprocess.run([program, "schema", schema], check=True, capture_output=True)
    file = folder / f"{schema}.json"
    file.write_bytes(printed.stdout)
    taplo = shutil.which("taplo", path=Path(sys.executable).parent)
    assert taplo is not None
    arguments = [taplo, "lint", "--no-auto-config", "--schema", file.as_uri(), *map(str, files)]
    return subprocess.run(arguments, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("schema", "pattern"),
    [("description", "systems/*.toml"), ("platform", "systems/platforms/*.toml")],
)
def test_taplo_accepts_what_the_command_does(schema: str, pattern: str, tmp_path: Path) -> None:
    files = sorted(ROOT.glob(pattern))
    assert len(files) > 5
    result = lint(tmp_path, schema, files)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("platform = ", "plattform = ", '"platform" is a required property'),
        ('memory = "16MiB"', "memory = 16", "is not of type"),
        ("[[vm.task]]\nname", "[[vm.task]]\nnam", "nam"),
    ],
)
def test_taplo_finds_typos_and_wrong_types(right: str, wrong: str, said: str, tmp_path: Path) -> None:
    text = (ROOT / "systems" / "chains.toml").read_text()
    assert right in text
    file = tmp_path / "chains.toml"
    file.write_text(text.replace(right, wrong, 1))
    result = lint(tmp_path, "description", [file])
    assert result.returncode != 0 and said in result.stderr, result.stderr
