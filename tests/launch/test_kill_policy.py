from milabench_ddp.events import Outcome, Verdict
from milabench_ddp.launch.kill_policy import PATIENCE, KillPolicy, Stage

CANCELLED = Verdict(Outcome.CANCELLED, "asked")


def policy() -> KillPolicy:
    return KillPolicy(start=100.0, max_duration=60.0, grace=5.0)


def test_the_deadline_is_a_timeout_and_the_grace_comes_after_it():
    it = policy()
    assert it.seconds_left(100.0) == 60.0
    assert it.advance(159.9) is None
    assert it.verdict is None
    assert it.advance(160.0) is Stage.TERMINATED
    assert it.verdict == Verdict(Outcome.TIMEOUT, "ended at its max_duration of 60 s")
    assert it.seconds_left(161.0) == 4.0
    assert it.advance(164.9) is None
    assert it.advance(165.0) is Stage.KILLED


def test_a_sigterm_that_is_sent_late_has_its_whole_grace():
    it = policy()
    it.begin_grace(100.0)  # nothing was sent
    assert it.advance(160.0) is Stage.TERMINATED
    it.begin_grace(162.0)
    assert it.advance(166.9) is None
    assert it.advance(167.0) is Stage.KILLED
    it.begin_grace(168.0)
    assert it.advance(167.0 + PATIENCE) is Stage.GIVEN_UP


def test_what_does_not_end_by_sigkill_is_given_up():
    it = policy()
    for moment in (160.0, 165.0):
        it.advance(moment)
    it.stop(166.0, CANCELLED)
    it.kill(166.0)
    assert it.seconds_left(166.0) == PATIENCE - 1.0
    assert it.advance(165.0 + PATIENCE - 0.1) is None
    assert it.advance(165.0 + PATIENCE) is Stage.GIVEN_UP
    assert it.advance(1e9) is None
    assert it.seconds_left(166.0) is None


def test_a_stage_that_is_overdue_is_due_at_once():
    assert policy().seconds_left(170.0) == 0.0


def test_the_first_verdict_stands():
    it = policy()
    it.stop(110.0, CANCELLED)
    it.stop(111.0, Verdict(Outcome.OK, "enough"))
    assert it.advance(110.0) is Stage.TERMINATED
    assert it.verdict == CANCELLED
    assert it.advance(114.9) is None
    assert it.advance(115.0) is Stage.KILLED


def test_a_request_after_the_deadline_is_still_a_timeout():
    it = policy()
    assert it.advance(160.0) is Stage.TERMINATED
    it.stop(161.0, CANCELLED)
    assert it.verdict is not None
    assert it.verdict.outcome is Outcome.TIMEOUT
    assert it.seconds_left(161.0) == 4.0


def test_a_second_request_skips_the_grace():
    it = policy()
    it.stop(110.0, CANCELLED)
    assert it.advance(110.0) is Stage.TERMINATED
    it.kill(110.5)
    assert it.advance(110.5) is Stage.KILLED
    it.kill(111.0)
    assert it.advance(111.0) is None


def test_two_requests_at_once_kill():
    it = policy()
    it.stop(110.0, CANCELLED)
    it.kill(110.0)
    assert it.advance(110.0) is Stage.KILLED
