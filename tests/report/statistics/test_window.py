"""When a process measured, from lines whose times are known."""

import pytest

from milabench_ddp.report.statistics.durations import Weighed, weighed
from milabench_ddp.report.statistics.window import Window, window_of
from tests.support.observed import Observation, rate_columns

RATES = (10.0, 10.0, 20.0, 10.0)
ENDS = (101.0, 102.0, 103.0, 104.0)


def lines(**columns: tuple[float, ...]) -> Weighed:
    found = []
    for k, rate in enumerate(RATES):
        found.append(Observation(rate, **{name: values[k] for name, values in columns.items()}))
    return weighed(rate_columns(found))


def window(start: int = 0, **columns: tuple[float, ...]) -> Window | None:
    return window_of(lines(**columns), start)


@pytest.mark.parametrize(
    "columns",
    [
        {"time": ENDS, "elapsed": (1.0, 2.0, 3.0, 4.0)},
        # written late, but for one
        {"time": (101.5, 102.0, 103.3, 104.9), "elapsed": (1.0, 2.0, 3.0, 4.0)},
        # all at the end
        {"time": (104.0, 104.0, 104.0, 104.0), "elapsed": (1.0, 2.0, 3.0, 4.0)},
        # milabench's: the seconds of each
        {"time": ENDS, "elapsed": (1.0, 1.0, 1.0, 1.0)},
    ],
)
def test_it_is_from_the_begin_of_the_first_observation_to_the_end_of_the_last(
    columns: dict[str, tuple[float, ...]],
) -> None:
    found = window(steps=(1, 1, 2, 1), **columns)
    assert found is not None
    assert found.ends.tolist() == [100.0, *ENDS]
    assert found.work.tolist() == pytest.approx([0.0, 0.2, 0.4, 0.8, 1.0])
    assert found.seconds == 4.0


def test_without_elapsed_the_first_line_is_the_begin() -> None:
    for columns in ({"arrived": ENDS}, {"time": ENDS}):
        found = window(steps=(1, 1, 2, 1), **columns)
        assert found is not None
        assert found.ends.tolist() == list(ENDS)


def test_it_is_of_the_steady_state_alone() -> None:
    found = window(2, time=ENDS, elapsed=(1.0, 2.0, 3.0, 4.0), steps=(1, 1, 2, 1))
    assert found is not None
    assert found.ends.tolist() == [102.0, 103.0, 104.0]
    assert found.work.tolist() == pytest.approx([0.0, 2 / 3, 1.0])


def test_a_warm_up_in_the_same_loop_is_not_in_it() -> None:
    """The loop began 30 s before the first line that counts: it did not last as long as that."""
    found = window(time=ENDS, elapsed=(31.0, 32.0, 33.0, 34.0), steps=(1, 1, 2, 1))
    assert found is not None
    assert found.ends.tolist() == list(ENDS)


@pytest.mark.parametrize("columns", [{}, {"time": ENDS[::-1]}, {"arrived": (1.0, None, 2.0, 3.0)}])
def test_without_a_clock_there_is_none(columns: dict[str, tuple[float, ...]]) -> None:
    assert window(**columns) is None
    assert window_of(Weighed.nothing(), 0) is None


def test_each_time_has_the_part_that_is_nearest_to_it() -> None:
    found = window(time=ENDS, elapsed=(1.0, 2.0, 3.0, 4.0), steps=(1, 1, 2, 1))
    assert found is not None
    work, seconds = found.shares([100.5, 101.5, 103.5])
    assert seconds.tolist() == [1.0, 1.5, 1.5]
    assert work.tolist() == pytest.approx([0.2, 0.4, 0.4])
    assert [part.tolist() for part in found.shares([102.0])] == [[1.0], [4.0]]
