from milabench_ddp.events import Outcome
from milabench_ddp.launch.ladder import Ladder, Rung


def ladder() -> Ladder:
    return Ladder(start=100.0, max_duration=60.0, grace=5.0)


def test_the_deadline_is_a_timeout_and_the_grace_comes_after_it():
    it = ladder()
    assert it.wait(100.0) == 60.0
    assert it.climb(159.9) is None
    assert it.climb(160.0) is Rung.TERMINATED
    assert (it.cause, it.reason) == (Outcome.TIMEOUT, "ended at its max_duration of 60 s")
    assert it.wait(161.0) == 4.0
    assert it.climb(164.9) is None
    assert it.climb(165.0) is Rung.KILLED
    assert it.climb(1e9) is None
    assert it.wait(166.0) is None


def test_the_first_cause_stands():
    it = ladder()
    it.stop(110.0, Outcome.CANCELLED, "asked")
    it.stop(111.0, Outcome.OK, "enough")
    assert it.climb(110.0) is Rung.TERMINATED
    assert (it.cause, it.reason) == (Outcome.CANCELLED, "asked")
    assert it.climb(115.0) is Rung.KILLED


def test_a_second_request_leaves_out_the_grace():
    it = ladder()
    it.stop(110.0, Outcome.CANCELLED, "asked")
    assert it.climb(110.0) is Rung.TERMINATED
    it.kill(110.5)
    assert it.climb(110.5) is Rung.KILLED


def test_two_requests_at_once_kill():
    it = ladder()
    it.stop(110.0, Outcome.CANCELLED, "asked")
    it.kill(110.0)
    assert it.climb(110.0) is Rung.KILLED
