"""Whether a node and its coordinator see the same run folder."""

from pathlib import Path

import pytest

from milabench_ddp.dispatch.shared_folder import leave_witness, why_not_shared
from milabench_ddp.errors import RunDirError
from milabench_ddp.results.run_dir import RunDir


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    (tmp_path / "plan.json").write_text("{}")
    return RunDir(tmp_path)


def test_the_same_folder(run: RunDir) -> None:
    name = leave_witness(run)
    assert leave_witness(run) != name
    assert why_not_shared(run, name) == ""
    assert not (run.nodes / name).exists()  # it has done its work
    assert why_not_shared(run, "") == ""


def test_another_folder_under_the_same_path(run: RunDir) -> None:
    said = why_not_shared(run, ".seen-elsewhere")
    assert said.startswith(f"{run.path} is another folder there: all nodes must see the run folder")


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(RunDirError, match=r"plan\.json is not there: all nodes must see"):
        leave_witness(RunDir(tmp_path / "runs" / "mine"))
    assert not (tmp_path / "runs").exists()


def test_a_folder_that_cannot_be_written(run: RunDir) -> None:
    run.nodes.write_text("in the way")
    with pytest.raises(RunDirError, match=r"cannot write|cannot make"):
        leave_witness(run)
