"""Earlier runs tell where peers cannot."""

from pathlib import Path

import pytest

from milabench_ddp.report.validation.peers import NODE
from tests.support.validated_speeds import failing, found, healthy, planned


def test_a_device_without_peers_is_compared_with_its_past(tmp_path: Path) -> None:
    for number in range(4):
        planned(tmp_path, f"r{number}", 1000.0 + number, {("", 0): 100 + number / 2})
    planned(tmp_path, "later", 3000, {("", 0): 500})
    planned(tmp_path, "other", 1000, {("", 0): 500}, dtype="fp8")
    (as_before,) = found(planned(tmp_path, "as-before", 2000, {("", 0): 99}))
    assert (as_before.word, as_before.reference) == ("pass", "past")
    assert as_before.median == pytest.approx(100.5, rel=0.01)
    (slower,) = found(planned(tmp_path, "slower", 2001, {("", 0): 80}))
    assert (slower.word, slower.reference) == ("fail", "past")
    assert slower.lower == pytest.approx(0.2, abs=0.01)


def test_of_two_that_differ_earlier_runs_tell_which_is_wrong(tmp_path: Path) -> None:
    for number in range(3):
        planned(tmp_path, f"r{number}", 1000.0 + number, {("", 0): 100, ("", 1): 101})
    run = planned(tmp_path, "now", 2000, {("", 0): 100, ("", 1): 80})
    judged = {each.place: each for each in found(run)}
    words = {name: each.word for name, each in judged.items()}
    assert words == {"device 0": "pass", "device 1": "fail", NODE: "pass"}
    assert judged["device 1"].reference == "catalog"


@pytest.mark.parametrize("slow", ["n0", "n1"])
def test_of_two_nodes_earlier_runs_tell_which_is_slow(tmp_path: Path, slow: str) -> None:
    for number in range(2):
        planned(tmp_path, f"r{number}", 1000.0 + number, healthy(2))
    speeds = healthy(2)
    speeds |= {place: 0.85 * speed for place, speed in speeds.items() if place[0] == slow}
    failed = failing(planned(tmp_path, "now", 2000, speeds))
    assert (slow, NODE) in failed
    assert {node for node, _ in failed} == {slow}


def test_a_single_earlier_run_does_not_tell_which_is_wrong(tmp_path: Path) -> None:
    planned(tmp_path, "r0", 1000, {("", 0): 100})
    (slower,) = found(planned(tmp_path, "now", 2000, {("", 0): 80}))
    assert slower.word == "cannot tell"
    assert slower.lower == pytest.approx(0.2, abs=0.01)
