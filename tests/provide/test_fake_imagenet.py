import errno
import fcntl
from pathlib import Path

import pytest
from torchvision.datasets import ImageFolder

from milabench_ddp.errors import ConfigError
from milabench_ddp.provide import fake_imagenet
from milabench_ddp.provide.failure import ProvideFailure
from milabench_ddp.provide.fake_imagenet import make
from tests.support.data_sets import images


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*.*") if p.is_file()}


def test_torchvision_reads_it(tmp_path: Path):
    told: list[int] = []
    make(tmp_path / "F", images(), told.append)
    assert sum(told) == 10
    train, val = (ImageFolder(str(tmp_path / "F" / part)) for part in ("train", "val"))
    assert (len(train), len(val)) == (7, 3)
    assert train.classes == val.classes == ["class_00000", "class_00001", "class_00002"]
    assert sorted(train.targets) == [0, 0, 0, 1, 1, 2, 2]
    assert train[0][0].size == (16, 16)


def test_a_second_call_does_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    make(tmp_path / "F", images(), lambda _: None)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    monkeypatch.setattr(fake_imagenet, "jpeg", None)
    make(tmp_path / "F", images(), lambda _: pytest.fail("it made an image"))
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


@pytest.mark.parametrize("kind", [KeyboardInterrupt, OSError])
def test_what_was_interrupted_is_continued(tmp_path: Path, monkeypatch, kind):
    made: list[object] = []
    draw = fake_imagenet.jpeg

    def counted(size: int, seed: tuple[int, ...]) -> bytes:
        if kind and seed == (0, 0, 4):
            raise kind(errno.ENOSPC, "No space left on device")
        made.append(seed)
        return draw(size, seed)

    monkeypatch.setattr(fake_imagenet, "jpeg", counted)
    with pytest.raises(ProvideFailure if kind is OSError else kind) as stopped:
        make(tmp_path / "F", images(), lambda _: None)
    if kind is OSError:
        assert "No space left on device; what was made is kept" in str(stopped.value)
    kind = None
    make(tmp_path / "F", images(), lambda _: None)
    assert len(made) == len(set(made)) == 10  # none was made twice
    make(tmp_path / "whole", images(), lambda _: None)
    whole = files(tmp_path / "whole")
    assert {k: v for k, v in files(tmp_path / "F").items() if not k.endswith(".part")} == whole


def test_it_is_refused_while_another_makes_it(tmp_path: Path):
    make(tmp_path / "F", images(), lambda _: None)
    fake_imagenet.manifest.write(tmp_path / "F", images(), complete=False)
    with (tmp_path / "F" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(ProvideFailure, match="another process is making"):
            make(tmp_path / "F", images(), lambda _: None)


def test_other_images_are_not_overwritten(tmp_path: Path):
    make(tmp_path / "F", images(), lambda _: None)
    before = files(tmp_path / "F")
    with pytest.raises(ConfigError, match="size 16 and not 24"):
        make(tmp_path / "F", images(size=24), lambda _: None)
    assert files(tmp_path / "F") == before


def test_a_folder_that_cannot_be_made():
    with pytest.raises(ProvideFailure, match="cannot write /proc/nowhere/F: No such file"):
        make(Path("/proc/nowhere/F"), images(), lambda _: None)
