import pytest

from milabench_ddp.events import Outcome, Status, Verdict, exit_reason, gravest


def test_the_gravest_part_decides_on_the_whole():
    ok, failed, late = Verdict(Outcome.OK), Verdict(Outcome.FAILED, "x"), Verdict(Outcome.TIMEOUT)
    assert gravest([ok, ok]) == ok
    assert gravest([ok, late, failed, Verdict(Outcome.FAILED, "later")]) == failed
    assert gravest([]) == ok


@pytest.mark.parametrize(
    ("returncode", "reason"),
    [(3, "exit status 3"), (-9, "killed by SIGKILL"), (-99, "killed by signal 99")],
)
def test_an_exit_status_has_its_reason(returncode: int, reason: str):
    assert exit_reason(returncode) == reason


def test_each_outcome_is_a_status_that_has_ended():
    assert {str(status) for status in Status if status.has_ended} == {str(it) for it in Outcome}
