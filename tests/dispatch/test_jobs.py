from pathlib import Path

import pytest

from milabench_ddp.dispatch.jobs import Job, address_file, folder, jobs_of, read, save
from milabench_ddp.errors import RunDirError
from tests.support.launches import benchmark

POINTS = [benchmark("a", num_machines=1), benchmark("b", num_machines=4), benchmark("c")]


def test_one_job_for_all_has_the_most_nodes() -> None:
    assert jobs_of(POINTS, 2, "shared") == [Job("all", 4, ("a", "b", "c"))]
    assert jobs_of(POINTS[:1], 8, "shared") == [Job("all", 1, ("a",))]  # resumed: no more than that


def test_a_job_for_each_the_largest_first() -> None:
    assert jobs_of(POINTS, 2, "separate") == [
        Job("b", 4, ("b",)),
        Job("c", 2, ("c",)),
        Job("a", 1, ("a",)),
    ]


def test_what_is_saved_is_read(tmp_path: Path) -> None:
    job = Job("all", 4, ("a", "b"))
    save(tmp_path, job)
    assert read(tmp_path, "all") == job
    assert address_file(tmp_path, "all").parent == folder(tmp_path)


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"name": "x", "nodes": 1}'])
def test_a_damaged_file(tmp_path: Path, text: str) -> None:
    folder(tmp_path).mkdir()
    (folder(tmp_path) / "all.json").write_text(text)
    with pytest.raises(RunDirError, match="is no job of a run"):
        read(tmp_path, "all")


def test_no_file_and_no_place_for_one(tmp_path: Path) -> None:
    with pytest.raises(RunDirError, match="cannot read"):
        read(tmp_path, "all")
    with pytest.raises(RunDirError, match="cannot write"):
        save(tmp_path / "gone", Job("all", 1, ()))
