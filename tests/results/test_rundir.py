from pathlib import Path

import pytest

from milabench_ddp.errors import RunDirError
from milabench_ddp.results.rundir import create, default_name


def test_a_run_has_a_folder_of_its_own(tmp_path: Path):
    run = create(tmp_path, "mine")
    assert run.path == tmp_path / "runs" / "mine"
    assert run.data("b.D0") == run.path / "b.D0.data"
    assert run.script("b") == run.path / "b" / "command.sh"


def test_a_name_that_is_taken_is_refused_with_a_suggestion(tmp_path: Path):
    create(tmp_path, "mine")
    create(tmp_path, "mine-2")
    with pytest.raises(RunDirError, match=r"'mine' exists already .* --name mine-3$"):
        create(tmp_path, "mine")


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "/a"])
def test_a_name_must_be_one(tmp_path: Path, name: str):
    with pytest.raises(RunDirError, match="is no name of a folder"):
        create(tmp_path, name)


def test_a_base_that_cannot_be_written_fails_before_anything_is_measured(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(RunDirError, match="choose a folder with --base"):
        create(tmp_path / "file", None)
    with pytest.raises(RunDirError, match="choose a folder with --base"):
        create(Path("/proc/nowhere"), None)


def test_default_names_differ():
    assert len({default_name() for _ in range(50)}) == 50
