import errno
import fcntl
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from torchvision.datasets import ImageFolder

from milabench_ddp.errors import ConfigError, PrepareError
from milabench_ddp.prepare import fake_imagenet
from milabench_ddp.prepare.fake_imagenet import is_complete, jpeg, make, write_manifest
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
    with pytest.raises(PrepareError if kind is OSError else kind) as stopped:
        make(tmp_path / "F", images(), lambda _: None)
    if kind is OSError:
        assert "No space left on device; the images made so far are kept" in str(stopped.value)
    kind = None
    make(tmp_path / "F", images(), lambda _: None)
    assert len(made) == len(set(made)) == 10  # none was made twice
    make(tmp_path / "whole", images(), lambda _: None)
    whole = files(tmp_path / "whole")
    assert {k: v for k, v in files(tmp_path / "F").items() if not k.endswith(".part")} == whole


def test_it_is_refused_while_another_makes_it(tmp_path: Path):
    make(tmp_path / "F", images(), lambda _: None)
    write_manifest(tmp_path / "F", images(), complete=False)
    with (tmp_path / "F" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(PrepareError, match="another process is making"):
            make(tmp_path / "F", images(), lambda _: None)


def test_other_images_are_not_overwritten(tmp_path: Path):
    make(tmp_path / "F", images(), lambda _: None)
    before = files(tmp_path / "F")
    with pytest.raises(ConfigError, match="was made with other settings"):
        make(tmp_path / "F", images(size=24), lambda _: None)
    assert files(tmp_path / "F") == before


def test_a_folder_that_cannot_be_made():
    with pytest.raises(PrepareError, match="cannot write /proc/nowhere/F: No such file"):
        make(Path("/proc/nowhere/F"), images(), lambda _: None)


def pixels(file: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(file)))


def test_a_seed_says_what_the_image_shows():
    assert jpeg(40, (1, 0, 2)) == jpeg(40, (1, 0, 2))
    others = {jpeg(40, seed) for seed in ((1, 0, 2), (2, 0, 2), (1, 1, 2), (1, 0, 3))}
    assert len(others) == 4


def test_it_is_a_colour_image_of_that_size():
    seen = pixels(jpeg(40, (0, 0, 0)))
    assert seen.shape == (40, 40, 3)
    assert seen.std() > 30  # neither grey nor plain


def test_it_takes_as_much_room_as_a_photograph():
    sizes = [len(jpeg(256, (0, 0, k))) / 256**2 for k in range(5)]
    assert 0.4 < sum(sizes) / 5 < 0.8  # ImageNet: 0.6 bytes for each pixel


def test_nothing_and_an_empty_folder_are_to_be_begun(tmp_path: Path):
    assert not is_complete(tmp_path / "nowhere", images())
    assert not is_complete(tmp_path, images())


@pytest.mark.parametrize("whole", [True, False])
def test_what_was_stated(tmp_path: Path, whole: bool):
    write_manifest(tmp_path, images(), complete=whole)
    assert is_complete(tmp_path, images()) is whole
    assert is_complete(tmp_path, images(folder="another")) is whole  # not a setting


def test_other_settings_are_named(tmp_path: Path):
    write_manifest(tmp_path, images(images=7, seed=1), complete=True)
    with pytest.raises(ConfigError, match="was made with other settings"):
        is_complete(tmp_path, images(images=9))


@pytest.mark.parametrize("text", [None, "", "{", "[]", "{}", '{"holds": 1}'])
def test_what_is_not_ours_is_left_alone(tmp_path: Path, text: str | None):
    (tmp_path / "photo.jpeg").touch()
    if text is not None:
        (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(ConfigError, match="`milabench prepare` did not make it"):
        is_complete(tmp_path, images())


def test_the_manifest_of_an_earlier_version_is_read(tmp_path: Path):
    (tmp_path / "manifest.json").write_text(
        '{"schema": 1, "holds": {"kind": "fake_imagenet", "drawing": 1, "images": 7,'
        ' "val_images": 3, "classes": 3, "size": 16, "seed": 0}, "complete": true}'
    )
    assert is_complete(tmp_path, images())
