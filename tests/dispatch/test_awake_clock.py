import pytest

from milabench_ddp.dispatch.protocol import LONGEST, AwakeClock
from tests.support.dispatch import Clock


def test_it_runs_like_any_other_while_it_is_read() -> None:
    real = Clock()
    awake = AwakeClock(real)
    for _ in range(3):
        real.sleep(1.0)
        assert awake() == pytest.approx(real.now - 1000)


@pytest.mark.parametrize("stop", [LONGEST + 1, 3600.0])
def test_of_a_stop_only_little_counts(stop: float) -> None:
    real = Clock()
    awake = AwakeClock(real)
    for _ in range(2):  # each of several stops
        before = awake()
        real.sleep(stop)
        assert awake() == before + LONGEST
        assert awake() == before + LONGEST
