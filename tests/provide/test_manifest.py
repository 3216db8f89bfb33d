from pathlib import Path

import pytest

from milabench_ddp.errors import ConfigError
from milabench_ddp.provide import manifest
from tests.support.data_sets import images


def test_nothing_and_an_empty_folder_are_to_be_begun(tmp_path: Path):
    assert not manifest.complete(tmp_path / "nowhere", images())
    assert not manifest.complete(tmp_path, images())


@pytest.mark.parametrize("whole", [True, False])
def test_what_was_stated(tmp_path: Path, whole: bool):
    manifest.write(tmp_path, images(), complete=whole)
    assert manifest.complete(tmp_path, images()) is whole
    assert manifest.complete(tmp_path, images(folder="another")) is whole  # not a setting


def test_other_settings_are_named(tmp_path: Path):
    manifest.write(tmp_path, images(images=7, seed=1), complete=True)
    with pytest.raises(ConfigError, match=r"\(images 7 and not 9, seed 1 and not 0\)"):
        manifest.complete(tmp_path, images(images=9))


@pytest.mark.parametrize("text", [None, "", "{", "[]", "{}", '{"holds": 1}'])
def test_what_is_not_ours_is_left_alone(tmp_path: Path, text: str | None):
    (tmp_path / "photo.jpeg").touch()
    if text is not None:
        (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(ConfigError, match="`milabench prepare` has not made it"):
        manifest.complete(tmp_path, images())
