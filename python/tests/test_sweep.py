"""Sweeps on this machine."""

from __future__ import annotations

from pathlib import Path

import bulkhead
import pytest

from conftest import EXPERIMENT


def test_tables_do_not_depend_on_threads(tmp_path: Path) -> None:
    experiment = bulkhead.Experiment(EXPERIMENT)
    assert experiment.parameters == ["utilization"] and experiment.shards == 60
    told: list[tuple[int, int]] = []
    one = bulkhead.sweep(experiment, tmp_path / "one", jobs=1, progress=lambda *at: told.append(at))
    assert told[-1] == (60, 60) and told == sorted(told)
    two = bulkhead.sweep(experiment, tmp_path / "two", jobs=2)
    assert Path(one.table).read_bytes() == Path(two.table).read_bytes()
    assert one.ok and one.points == two.points and one.points["systems"] == [40, 40, 40]

    systems = one.to_pandas()
    assert len(systems) == 120 and systems["exceeded"].sum() == 0
    share = systems.groupby("utilization")["schedulable_ok"].mean()
    assert share.tolist() == pytest.approx(one.points["schedulable_ok_share"])
    assert one.to_arrow().schema.metadata[b"bulkhead.experiment"] == EXPERIMENT.encode()


def test_who_interrupts_keeps_what_is_finished(tmp_path: Path) -> None:
    experiment = bulkhead.Experiment(EXPERIMENT)
    whole = bulkhead.sweep(experiment, tmp_path / "whole")

    def interrupt(finished: int, shards: int) -> None:
        if finished > 0:
            raise KeyboardInterrupt

    folder = tmp_path / "parts"
    with pytest.raises(KeyboardInterrupt):
        bulkhead.sweep(experiment, folder, jobs=1, progress=interrupt)
    told: list[int] = []
    parts = bulkhead.sweep(experiment, folder, progress=lambda at, _: told.append(at))
    assert told[0] > 0
    assert Path(parts.table).read_bytes() == Path(whole.table).read_bytes()


def test_mistakes_have_their_place(tmp_path: Path) -> None:
    file = tmp_path / "experiment.toml"
    file.write_text(EXPERIMENT.replace("vcpus = 2", "vcpus = 0"))
    with pytest.raises(bulkhead.DescriptionError, match="`vcpus` is 0") as raised:
        bulkhead.sweep(file, tmp_path / "out")
    assert (raised.value.file, raised.value.line) == (str(file), 7)
    assert not (tmp_path / "out").exists()
    with pytest.raises(FileNotFoundError, match="cannot read") as missing:
        bulkhead.sweep(tmp_path / "nothing.toml", tmp_path / "out")
    assert isinstance(missing.value, bulkhead.FileError)


def test_folders_belong_to_one_experiment(tmp_path: Path) -> None:
    experiment = bulkhead.Experiment(EXPERIMENT)
    with pytest.raises(KeyboardInterrupt):
        bulkhead.sweep(experiment, tmp_path, progress=_interrupt)
    other = bulkhead.Experiment(EXPERIMENT.replace("seed = 5", "seed = 6"))
    with pytest.raises(bulkhead.BulkheadError, match="another experiment"):
        bulkhead.sweep(other, tmp_path)


def _interrupt(finished: int, shards: int) -> None:
    raise KeyboardInterrupt


def test_a_bar_shows_how_far_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    experiment = bulkhead.Experiment(EXPERIMENT)
    assert repr(experiment).startswith("<Experiment: title=") and "shards=60" in repr(experiment)
    sweep = bulkhead.sweep(experiment, tmp_path / "bar", progress=True)
    shown = capsys.readouterr().err
    assert shown.startswith("\rshards [") and shown.endswith("\n")
    assert f"[{'#' * 30}] 60 of 60" in shown
    assert repr(sweep) == f"<Sweep: ok=True, points=3, table={sweep.table!r}>"
    bulkhead.sweep(experiment, tmp_path / "none", progress=False)
    assert capsys.readouterr().err == ""


def test_shards_are_lines() -> None:
    experiment = bulkhead.Experiment(EXPERIMENT)
    assert experiment.compute(7) == experiment.compute(7) != experiment.compute(8)
    with pytest.raises(bulkhead.BulkheadError, match="there are 60 shards, and no 60"):
        experiment.compute(60)
