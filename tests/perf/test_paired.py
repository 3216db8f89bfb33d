"""Rounds in turn, and commands on one core."""

import os
import sys

import pytest

from perf.paired import FailedRunError, in_turn, run, seconds


def test_sides_take_turns_and_every_other_round_goes_backwards() -> None:
    order = []

    def side(name: str) -> float:
        order.append(name)
        return float(len(order))

    found = in_turn(3, {"a": lambda: side("a"), "b": lambda: side("b")})
    assert "".join(order) == "ab" + "ab" + "ba" + "ab"  # once to warm up
    assert found == {"a": (3.0, 6.0, 7.0), "b": (4.0, 5.0, 8.0)}


def test_one_round_is_not_warmed_up() -> None:
    calls = []
    in_turn(1, {"a": lambda: calls.append(1) or 0.0})
    assert len(calls) == 1


def test_a_command_on_one_core_and_this_process_on_all() -> None:
    before = os.sched_getaffinity(0)
    core = max(before)
    done = run([sys.executable, "-c", "import os; print(os.sched_getaffinity(0))"], core)
    assert done.said.strip() == str({core})
    assert os.sched_getaffinity(0) == before


def test_a_command_that_fails_is_no_figure() -> None:
    with pytest.raises(FailedRunError, match="exit status 3\nno"):
        seconds([sys.executable, "-c", "print('no'); raise SystemExit(3)"])
