"""Checks that fail, hang or say several things."""

import threading
from collections.abc import Iterator

from milabench_ddp.doctor.diagnosis import Diagnosis, State, error, examine, ok, warning
from milabench_ddp.errors import MachineError
from tests.support.wait import PATIENCE


def test_all_that_each_check_finds_with_its_name_in_their_order() -> None:
    checks = {
        "a": lambda: [ok("1"), warning("2", "do")],
        "b": lambda: [],
        "c": lambda: [error("3")],
    }
    assert examine(checks, PATIENCE) == [
        Diagnosis(State.OK, "1", check="a"),
        Diagnosis(State.WARNING, "2", "do", "a"),
        Diagnosis(State.ERROR, "3", check="c"),
    ]


def test_checks_run_beside_each_other() -> None:
    both = threading.Barrier(2)

    def meets() -> list[Diagnosis]:
        both.wait(PATIENCE)
        return [ok("met")]

    found = examine({"a": meets, "b": meets}, PATIENCE)
    assert [each.found for each in found] == ["met", "met"]


def test_one_that_hangs_costs_its_time_and_nothing_else() -> None:
    release = threading.Event()

    def hangs() -> Iterator[Diagnosis]:
        release.wait()
        yield ok("never")

    found = examine({"a": hangs, "b": lambda: [ok("told")]}, 0.2)
    release.set()
    assert [each.state for each in found] == [State.WARNING, State.OK]


def test_one_that_fails() -> None:
    def of_the_machine() -> Iterator[Diagnosis]:
        yield ok("so far")
        raise MachineError("planted")

    def of_the_host() -> Iterator[Diagnosis]:
        raise PermissionError(13, "Permission denied", "/x")
        yield

    def bug() -> Iterator[Diagnosis]:
        raise KeyError("k")
        yield

    found = examine({"a": of_the_machine, "b": of_the_host, "c": bug}, PATIENCE)
    assert {each.state for each in found} == {State.ERROR}
    said = [each.found for each in found]
    assert said[:2] == ["planted", "/x: Permission denied"]
    assert "KeyError" in said[2]
