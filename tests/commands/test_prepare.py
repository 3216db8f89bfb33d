from pathlib import Path

import pytest

from milabench_ddp.cli import main

SUITE = """
a: {program: p.py, plan: {method: per_gpu}, prepare: {fake_imagenet: {images: 6, classes: 2,
    size: 16}}, presets: {full: {prepare: {fake_imagenet: {images: 600}}}}}
b: {inherits: a, max_duration: 5}
c: {program: p.py, plan: {method: per_gpu}}
"""
CPU = ("--device", "cpu", "--gpus", "1")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MILABENCH_BASE", str(tmp_path / "base"))
    Path("p.py").touch()
    Path("s.yaml").write_text(SUITE)
    return tmp_path


def test_it_is_made_once(here: Path, capsys: pytest.CaptureFixture[str]):
    folder = here / "base" / "data" / "FakeImageNet"
    assert main(["prepare", "s.yaml", *CPU]) == 0
    assert capsys.readouterr() == (f"{folder}: 8 images of 16 pixels in 2 classes\n", "")
    assert len(list(folder.glob("train/*/*.jpeg"))) == 6
    assert main(["prepare", "s.yaml", *CPU]) == 0
    assert capsys.readouterr() == (f"{folder}: exists already\n", "")


def test_nothing_to_prepare(here: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["prepare", "s.yaml", *CPU, "--select", "c"]) == 0
    assert capsys.readouterr().out.startswith("nothing to prepare")
    assert not (here / "base").exists()


def test_one_folder_cannot_hold_two_sets(here: Path, capsys: pytest.CaptureFixture[str]):
    change = "b.prepare.fake_imagenet.size=24"
    assert main(["prepare", "s.yaml", *CPU, "--override", change]) == 2
    assert "`a` and `b` need different images in the same folder" in capsys.readouterr().err
    assert not (here / "base").exists()


def test_a_folder_with_other_images_is_exit_2(here: Path, capsys: pytest.CaptureFixture[str]):
    main(["prepare", "s.yaml", *CPU])
    assert main(["prepare", "s.yaml", *CPU, "--preset", "full"]) == 2
    assert "was made with other settings" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_exit_1(here: Path, capsys):
    assert main(["prepare", "s.yaml", *CPU, "--base", "/proc/nowhere"]) == 1
    assert "cannot write /proc/nowhere/data/FakeImageNet" in capsys.readouterr().err
