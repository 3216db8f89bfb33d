"""Asking tools of this host, some of which hang, are missing, fail or say too much."""

import os
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from milabench_ddp.launch.stacks import status
from milabench_ddp.machine import tools
from milabench_ddp.machine.tools import MOST, Answer, answers
from tests.support.wait import wait_for

LONG = 600.0  # seconds


def test_what_each_says_on_both_streams() -> None:
    commands = {"first": "echo out; echo err >&2", "last": "printf %s ok", "none": ":"}
    found = answers(commands, LONG)
    assert found == {"first": Answer("out\nerr\n"), "last": Answer("ok"), "none": Answer("")}
    assert answers({}, LONG) == {}


def test_one_that_fails_or_is_missing_is_told() -> None:
    commands = {"fails": "echo no driver; exit 9", "missing": "no-such-tool -q", "ok": "echo ok"}
    assert answers(commands, LONG) == {
        "fails": Answer("no driver\n", "ended with 9"),
        "missing": Answer("", "no-such-tool: command not found"),
        "ok": Answer("ok\n"),
    }


@pytest.mark.parametrize(("size", "lacks"), [(MOST, ""), (MOST + 1, "said more than 1 MiB")])
def test_what_says_too_much_is_cut(size: int, lacks: str) -> None:
    found = answers({"": f"head -c {size} /dev/zero | tr '\\0' x"}, LONG)[""]
    assert (found.text, found.lacks) == ("x" * MOST, lacks)


def test_one_without_an_end_is_ended() -> None:
    assert answers({"": "yes"}, LONG)[""].lacks == "said more than 1 MiB"


def test_one_that_hangs_is_ended_with_its_children_and_holds_up_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, done = tmp_path / "pids", tmp_path / "done"
    pids, new, end = (shlex.quote(str(each)) for each in (file, tmp_path / "new", done))
    hangs = f"trap '' TERM; echo begun; sleep 900 & echo $! $$ > {new}; mv {new} {pids}; wait"
    time_is_over_once(monkeypatch, lambda: file.exists() and done.exists())
    found = answers({"hangs": hangs, "good": f"echo ok; touch {end}"}, 3.0)
    assert found["hangs"] == Answer("begun\n", "did not end within 3 s")
    assert found["good"].text == "ok\n"
    pids_of = file.read_text().split()
    wait_for(lambda: all(status(pid).get("State", "Z")[0] in "ZX" for pid in pids_of))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_one_that_cannot_be_killed_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a driver holds one: SIGKILL does nothing."""
    killed: list[tuple[int, int]] = []
    monkeypatch.setattr(tools, "_END", 0.0)
    with monkeypatch.context() as patched:
        patched.setattr(os, "killpg", lambda *group: killed.append(group))
        found = answers({"": "exec sleep 900"}, 0.0)
    assert found == {"": Answer("", "did not end within 0 s")}
    os.killpg(*killed[0])
    os.waitpid(killed[0][0], 0)


def time_is_over_once(monkeypatch: pytest.MonkeyPatch, condition: Callable[[], bool]) -> None:
    wait = tools._wait
    waits = iter([lambda: wait_for(condition)])

    def over(asked: Sequence[tools.Started], seconds: float) -> list[tools.Started]:
        next(waits, lambda: None)()
        return wait(asked, 0.2)

    monkeypatch.setattr(tools, "_wait", over)
