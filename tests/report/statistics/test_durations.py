"""Planted truths: lines of every kind, of steps whose times are known."""

import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.statistics import durations
from milabench_ddp.report.statistics.durations import Weighed, sum_of_ranks
from milabench_ddp.results.rate_columns import RateColumns
from tests.support.observed import Observation, rate_columns
from tests.support.result_files import end, job, rate, start, write

FAST, SLOW = 0.010, 0.100  # seconds of a step
IN_TURN = [FAST, SLOW] * 60
IN_BLOCKS = ([FAST] * 60 + [SLOW] * 6) * 4
AT_RANDOM = random.Random(7).choices([FAST, SLOW, 0.03], k=160)
COURSES = {"in turn": IN_TURN, "in blocks": IN_BLOCKS, "at random": AT_RANDOM}
T0 = 1_700_000_000.0

Line = tuple[float, float]  # when it is written, in seconds after the start, and its rate
Way = Callable[[list[Line]], list[Observation]]


def weighed(lines: Iterable[Observation]) -> Weighed:
    (found,) = rate_columns(lines).by_rank().values()
    return durations.weighed(found)


def between(lines: Iterable[Observation]) -> tuple[float, float]:
    (found,) = rate_columns(lines).by_rank().values()
    return durations.between(found)


def mean_of(seen: Weighed) -> float:
    return float((seen.lines.rate * seen.seconds).sum() / seen.seconds.sum())


def perf(lines: Iterable[Observation]) -> float:
    return mean_of(weighed(lines))


def every_steps(steps: Sequence[float], number: int = 1) -> list[Line]:
    """A line after every ``number`` steps of one item."""
    lines, now = [], 0.0
    for k in range(0, len(steps) - number + 1, number):
        took = sum(steps[k : k + number])
        now += took
        lines.append((now, number / took))
    return lines


def every_seconds(steps: Sequence[float], seconds: float) -> list[Line]:
    """A line for each span of ``seconds``, with the share of each step that lies in it."""
    lines, done, now, goal = [], 0.0, 0.0, seconds
    for took in steps:
        left = took
        while now + left >= goal:
            done += (goal - now) / took
            left -= goal - now
            now = goal
            lines.append((goal, done / seconds))
            done, goal = 0.0, goal + seconds
        done += left / took
        now += left
    return lines


def at_once(lines: Sequence[Line]) -> list[Line]:
    """All of them in one burst at the end, 30 us apart."""
    last = lines[-1][0]
    return [(last + 30e-6 * k, value) for k, (_, value) in enumerate(lines)]


def buffered(lines: Sequence[Line], number: int = 20) -> list[Line]:
    """In bursts of ``number`` lines."""
    late = []
    for k in range(0, len(lines), number):
        late += at_once(lines[k : k + number])
    return late


def arriving(lines: Sequence[Line]) -> list[Observation]:
    return [Observation(value, arrived=T0 + when) for when, value in lines]


def told(lines: Sequence[Line]) -> list[Observation]:
    """With the time in the line, and all of them read at the end."""
    return [Observation(value, time=T0 + when, arrived=T0 + 99) for when, value in lines]


def without_times(lines: Sequence[Line]) -> list[Observation]:
    return [Observation(value) for _, value in lines]


@pytest.mark.parametrize("course", COURSES)
@pytest.mark.parametrize("number", [1, 4])
@pytest.mark.parametrize("way", [arriving, told, without_times])
@pytest.mark.parametrize("burst", [list, buffered, at_once])
def test_a_line_for_a_number_of_steps(
    course: str,
    number: int,
    way: Callable[..., list[Observation]],
    burst: Callable[..., list[Line]],
) -> None:
    steps = COURSES[course]
    truth = len(steps) / sum(steps)
    assert perf(way(burst(every_steps(steps, number)))) == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("course", ["in blocks", "at random"])
@pytest.mark.parametrize("seconds", [0.05, 0.25])
@pytest.mark.parametrize("way", [arriving, told])
def test_a_line_for_a_fixed_time(course: str, seconds: float, way: Way) -> None:
    lines = every_seconds(COURSES[course] * 3, seconds)
    truth = sum(value for _, value in lines) / len(lines)
    assert perf(way(lines)) == pytest.approx(truth, rel=1e-9)


def test_the_example_of_10_and_100_ms() -> None:
    lines = [Observation(100.0), Observation(10.0)] * 30
    assert perf(lines) == pytest.approx(18.1818, abs=1e-4)
    each_for_a_second = [seen._replace(arrived=T0 + k) for k, seen in enumerate(lines)]
    assert perf(each_for_a_second) == pytest.approx(55.0)


def test_a_line_for_steps_of_any_number() -> None:
    """No pattern: only the time since the line before is right, and the first line has none."""
    draw = random.Random(3)
    lines, now = [], 0.0
    for _ in range(400):
        steps, took = draw.randint(1, 9), draw.choice([0.02, 0.2])
        now += steps * took
        lines.append((now, 1 / took, steps))
    truth = sum(steps for *_, steps in lines) / now
    assert perf(arriving([line[:2] for line in lines])) == pytest.approx(truth, rel=0.01)
    assert perf(told([line[:2] for line in lines])) == pytest.approx(truth, rel=0.01)
    with_steps = [Observation(value, steps) for _, value, steps in lines]
    assert perf(with_steps) == pytest.approx(truth, rel=1e-12)


def test_bunches_that_all_take_as_long_are_of_lines_for_the_same_work() -> None:
    for wobble in (-1e-4, 1e-4):  # whichever kind fits better by chance
        lines = buffered(every_steps(IN_TURN))
        lines = [(when + wobble * (k // 20 % 2), value) for k, (when, value) in enumerate(lines)]
        assert perf(arriving(lines)) == pytest.approx(18.1818, rel=1e-4)


@pytest.mark.parametrize("lateness", [0.0005, 0.003])
def test_a_busy_machine_that_reads_late(lateness: float) -> None:
    draw = random.Random(5)
    late = [(when + draw.expovariate(1 / lateness), value) for when, value in every_steps(IN_TURN)]
    assert perf(arriving(sorted(late))) == pytest.approx(18.1818, rel=1e-4)


@pytest.mark.parametrize("pause", [0.5, 30.0])
def test_pauses_between_observations_do_not_weigh(pause: float) -> None:
    """An evaluation after every 20 steps: the line that follows it is not 30 s long."""
    paused = []
    for k, (when, value) in enumerate(every_steps(AT_RANDOM)):
        paused.append((when + pause * (k // 20), value))
    truth = len(AT_RANDOM) / sum(AT_RANDOM)
    assert perf(arriving(paused)) == pytest.approx(truth, rel=1e-9)


def test_milabenchs_elapsed_is_exact() -> None:
    """Batches of different sizes: the work of a line is not the same, nor is its time."""
    draw = random.Random(9)
    lines, now, items = [], T0, 0
    for _ in range(60):
        size, took = draw.randint(1, 64), draw.uniform(0.1, 0.4)
        now += took
        items += size
        lines.append(Observation(size / took, time=now, elapsed=took))
    assert perf(lines) == pytest.approx(items / (now - T0), rel=1e-6)


def test_elapsed_since_the_beginning_is_not_a_duration() -> None:
    lines = []
    for when, value in every_steps(IN_TURN):
        lines.append(Observation(value, time=T0 + when, elapsed=when))
    assert perf(lines) == pytest.approx(18.1818, abs=1e-4)


@pytest.mark.parametrize("step", [-3600.0, -0.5])
def test_a_clock_that_is_set_back_is_not_used(step: float) -> None:
    lines = told(every_steps(IN_TURN))
    for k in range(60, len(lines)):
        lines[k] = lines[k]._replace(time=lines[k].time + step)
    assert perf(lines) == pytest.approx(18.1818, abs=1e-4)


def test_times_that_are_no_numbers_are_not_used() -> None:
    odd = ["now", None, float("nan"), True, 10**400]
    lines = [
        Observation(value, time=odd[k % 5], elapsed=odd[k % 5], arrived=odd[-k % 5])
        for k, (_, value) in enumerate(every_steps(IN_TURN))
    ]
    assert perf(lines) == pytest.approx(18.1818, abs=1e-4)


def test_a_second_without_work_counts_if_the_clock_shows_it() -> None:
    values = [100.0, 90.0, 0.0, 110.0] * 5
    lines = [Observation(value, arrived=T0 + k) for k, value in enumerate(values)]
    assert perf(lines) == pytest.approx(75.0)
    assert len(weighed([line._replace(arrived=None) for line in lines])) == 15
    assert len(weighed([Observation(value, 1) for value in values])) == 15


def test_what_does_not_count() -> None:
    good = Observation(5.0)
    bad = [Observation(value) for value in (-1.0, float("nan"), 1e300, "5", True)]
    lines = [good, *bad, good._replace(warmup=True), good._replace(repeated=True), good]
    assert weighed(lines).lines.rate.tolist() == [5.0, 5.0]
    assert len(weighed(bad)) == 0
    assert RateColumns.none().by_rank() == {}


def test_the_sum_of_ranks_is_the_sum_of_their_means() -> None:
    ranks = [weighed(arriving(every_steps(steps))) for steps in COURSES.values()]
    seen = sum_of_ranks(ranks)
    assert len(seen) == len(IN_TURN)
    total = sum(len(steps) / sum(steps) for steps in COURSES.values())
    assert mean_of(seen) == pytest.approx(total)
    assert sum_of_ranks([ranks[0]]) is ranks[0]


def test_a_slow_second_on_all_ranks_is_one_in_their_sum() -> None:
    ranks = [weighed([Observation(value, 1) for value in (8.0, 2.0, 8.0)]) for _ in range(4)]
    assert sum_of_ranks(ranks).lines.rate.tolist() == pytest.approx([32.0, 8.0, 32.0])


def rate_lines(steps: Sequence[float], scale: float = 1.0, **more: object) -> str:
    return "".join(rate(scale * value, **more) for _, value in every_steps(steps))


@pytest.mark.parametrize("nodes", [1, 2])
def test_ranks_of_a_job_are_summed(tmp_path: Path, nodes: int) -> None:
    """Ranks 0 to 3 at 1, 2, 3 and 4 times 18.18 items/s."""
    for node in range(nodes):
        tag = "b.0" if nodes == 1 else f"b.0.n{node}" + (".nolog" if node else "")
        own = range(4 // nodes * node, 4 // nodes * (node + 1))
        lines = [rate_lines(IN_TURN, rank + 1.0, rank=rank) for rank in own]
        mixed = "".join(
            "".join(of_ranks) + "\n"
            for of_ranks in zip(*(line.splitlines(keepends=True) for line in lines), strict=True)
        )
        settings = job("b", 4 // nodes, nodes, tag=tag.split("."))
        write(tmp_path, tag, settings, start(), mixed, end(0, outcome="ok"))
    report = report_of([tmp_path])
    assert report.rows[0].perf == pytest.approx(10 * 18.1818, rel=1e-4)
    assert (report.rows[0].fail, report.rows[0].n) == (0, nodes)


def test_ranks_that_do_not_tell_themselves_are_refused(tmp_path: Path) -> None:
    for node, tag in enumerate(("b.0.n0", "b.0.n1.nolog")):
        settings = job("b", 1, 2, tag=tag.split("."))
        lines = rate_lines(IN_TURN, 1.0 + node)
        write(tmp_path, tag, settings, start(), lines, end(0, outcome="ok"))
    report = report_of([tmp_path])
    (failure,) = report.failures
    assert "can be neither summed nor averaged" in failure.reason
    assert str(report.rows[0].perf) == "nan"


def validated(every: int, took: float, **more: object) -> list[Observation]:
    """Steps of 10 ms, each told as it ends, with a validation after some; 1 % noise."""
    draw, now, lines = random.Random(3), T0, []
    for k in range(200):
        step = draw.gauss(FAST, FAST / 100)
        now += step
        told = {key: step if key == "elapsed" else value for key, value in more.items()}
        lines.append(Observation(1 / step, arrived=now, time=now, **told))
        if k % every == every - 1:
            now += took
    return lines


def test_time_between_observations_is_measured() -> None:
    """Three of four validations lie between lines: 0.75 s beside 1.99 s of steps."""
    for lines in (validated(50, 0.25), validated(50, 0.25, steps=1)):
        gap, total = between(lines)
        assert gap == pytest.approx(0.75, abs=0.01)
        assert total == pytest.approx(1.99 + 0.75, abs=0.01)
    gap, total = between(validated(1, 0.005, elapsed=True))  # after each: milabench tells seconds
    assert gap / total == pytest.approx(1 / 3, abs=0.01)


@pytest.mark.parametrize("course", COURSES.values(), ids=COURSES)
def test_slow_steps_are_not_time_between_observations(course: list[float]) -> None:
    for lines in (every_steps(course), every_steps(course, 2), every_seconds(course, 0.2)):
        seen = [Observation(value, arrived=T0 + time) for time, value in lines]
        gap, total = between(seen)
        assert gap <= 0.02 * total
    assert between(validated(1000, 0.0)) == (0.0, pytest.approx(1.99, abs=0.01))
    assert between([Observation(5.0)]) == (0.0, 0.0)
