import json
import os
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.errors import RunDirError
from milabench_ddp.events import Outcome
from milabench_ddp.results.points import LOST, is_final, read_point, save_point, set_aside
from milabench_ddp.results.run_dir import alive
from milabench_ddp.results.runfile import (
    BenchmarkState,
    LaunchState,
    ProcessState,
    benchmark_state,
)

PROCESS = ProcessState("b.D0.n0", 7, 0, Outcome.OK, "", 1.0, 2.0, rates=5)
LAUNCH = LaunchState(1, Outcome.OK, "", 0.5, None, [PROCESS], ["n0", "n1"])


def test_what_is_saved_is_read(tmp_path: Path) -> None:
    state = BenchmarkState("b", Outcome.OK, "", 1.0, 2.0, [LAUNCH], ["n0", "n1"], cut_short=True)
    save_point(tmp_path / "b", state)
    found = read_point(tmp_path / "b")
    assert found is not None
    assert benchmark_state(found) == state
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["state.json"]


def test_there_is_none_yet(tmp_path: Path) -> None:
    assert read_point(tmp_path / "b") is None
    (tmp_path / "b").mkdir()
    assert read_point(tmp_path / "b") is None


def test_one_that_runs_is_lost_with_whoever_led_it(tmp_path: Path) -> None:
    save_point(tmp_path, BenchmarkState("b", "running"))
    with alive(tmp_path):
        found = read_point(tmp_path)
        assert found is not None
        assert found["outcome"] == "running"
    found = read_point(tmp_path)
    assert found is not None
    assert (found["outcome"], found["reason"]) == ("lost", LOST)
    assert json.loads((tmp_path / "state.json").read_text())["outcome"] == "running"  # as it was


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "\udcff"])
def test_a_damaged_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "state.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises((TypeError, ValueError)):
        read_point(tmp_path)


def test_a_disk_that_is_full_leaves_the_old_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_point(tmp_path, BenchmarkState("b", "running"))

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RunDirError, match=r"cannot write .*state\.json: No space left"):
        save_point(tmp_path, BenchmarkState("b", Outcome.OK))
    assert json.loads((tmp_path / "state.json").read_text())["outcome"] == "running"


@pytest.mark.parametrize(
    ("state", "final"),
    [
        (None, False),
        ({"outcome": "waiting"}, False),
        ({"outcome": "running"}, False),
        ({"outcome": "ok"}, True),
        ({"outcome": "failed"}, True),
        ({"outcome": "timeout"}, True),
        ({"outcome": "timeout", "cut_short": True}, False),  # its job's limit, not its own
        ({"outcome": "cancelled"}, False),
        ({"outcome": "lost"}, False),
        ({}, False),
    ],
)
def test_which_results_are_left_alone(state: dict[str, Any] | None, final: bool) -> None:
    assert is_final(state) is final


def make(run: Path, folders: list[str], files: list[str]) -> None:
    for name in folders:
        (run / name).mkdir(exist_ok=True)
    for name in files:
        (run / name).write_text(name)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.is_file()}


def test_an_earlier_attempt_is_set_aside_with_all_its_files(tmp_path: Path) -> None:
    first = ["gpt.0.node0.data", "gpt.R1.0.data", "gpt.D0.stdout", "gpt.D0.stderr"]
    others = ["gpt2.D0.data", "gpt.v2.0.data", "my.gpt.0.data", "gpt.txt", "run.json"]
    make(tmp_path, ["gpt", "gpt2", "gpt.v2", "my.gpt"], first + others)
    set_aside(tmp_path, "gpt")
    assert names(tmp_path / "gpt" / "attempts" / "1") == set(first)
    assert names(tmp_path) == set(others)
    make(tmp_path, [], ["gpt.D1.data"])
    set_aside(tmp_path, "gpt")
    assert names(tmp_path / "gpt" / "attempts" / "2") == {"gpt.D1.data"}
    set_aside(tmp_path, "gpt")
    assert len(list((tmp_path / "gpt" / "attempts").iterdir())) == 2


def test_a_name_with_dots_and_brackets(tmp_path: Path) -> None:
    make(tmp_path, ["x", "x.[1]"], ["x.D0.data", "x.[1].D0.data", "x.1.data"])
    set_aside(tmp_path, "x.[1]")
    assert names(tmp_path) == {"x.D0.data", "x.1.data"}
    assert names(tmp_path / "x.[1]" / "attempts" / "1") == {"x.[1].D0.data"}


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    make(tmp_path, ["x"], ["x.D0.data", "x/attempts"])
    with pytest.raises(RunDirError, match="cannot write"):
        set_aside(tmp_path, "x")
