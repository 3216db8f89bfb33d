"""Decides whether a benchmark is launched again.

``--repeat`` says how often, or ``--until`` the rate is sure. In a validation, what fails a node is
measured up to twice more: a device may be slow in one launch by chance, but rarely in all of them.
"""

from contextlib import suppress

from ..config.schema import VALIDATE, Benchmark
from ..progress import LaunchCount, ProgressObserver
from ..report.statistics.interval import Series
from ..report.statistics.stopping import LEAST, precision
from ..results.read_state import read_benchmark
from ..results.run_dir import RunDir
from ..results.state import BenchmarkState, LaunchState, Repeats
from ..table import duration_text, given_percent_text, percent_text
from .run_context import RunPlan

MOST = 20  # launches with ``--until``, unless ``--repeat`` says how many
LAUNCHES_TO_FAIL = 3  # of what fails a node, with the first one
FAILURES = 3  # launches in which nothing was measured, after which ``--until`` gives up


class RepeatCounter:
    """Follows how precise the rate of a benchmark becomes with its launches."""

    def __init__(self, run: RunDir, plan: RunPlan) -> None:
        self._run, self._most, self._until = run, plan.repeats, plan.until
        self._measured: list[list[Series]] = []  # by launch
        self._failures = 0
        least = plan.repeats if plan.until is None else min(LEAST, plan.repeats)
        self.repeats = Repeats(least, plan.until)
        self.is_enough = False  # before ``--repeat`` launches

    def add(self, launch: LaunchState) -> None:
        if self._until is None:
            return
        from ..report.partial import launch_series  # here: few runs need the report

        if series := launch_series(self._run, [process.tag for process in launch.processes]):
            self._measured.append(series)
        else:
            self._failures += 1
        now = precision(self._measured, self._until)
        expected = min(now.expected + self._failures, self._most)
        problem = now.problem
        if self._failures >= FAILURES:
            expected = len(self._measured) + self._failures
            problem = f"{self._failures} of its launches measured nothing"
        self.is_enough = now.is_enough or self._failures >= FAILURES
        self.repeats = Repeats(expected, self._until, now.half_width, problem)


def needs_another_launch(run: RunDir, benchmark: Benchmark, state: BenchmarkState) -> bool:
    """Whether a validation finds a node below its peers, by fewer launches than fail it."""
    if VALIDATE not in benchmark.tags or len(state.launches) >= LAUNCHES_TO_FAIL:
        return False
    if not all(each.verdict.is_ok for each in state.launches):
        return False
    from ..report.partial import fails_a_node  # here: few runs need the report

    with suppress(Exception):  # the report will meet it, too; what was measured stays
        return fails_a_node(run, benchmark.name)
    return False


def next_repeat(run: RunDir, benchmark: str) -> int:
    """The number of the first launch that has not ended ok in an earlier attempt, from 0."""
    state = read_benchmark(run, benchmark)
    ended = {launch.repeat for launch in state.launches if launch.verdict.is_ok} if state else ()
    number = 0
    while number in ended:
        number += 1
    return number


def told_of_repeats(state: BenchmarkState) -> str:
    """How precise the rate of a benchmark is after its last launch, and what is still to come.

    Such as ``flops: ±2.1% after 5 launches; about 7 more for ±1%, 6 min``; empty if nothing is.
    """
    done, repeats = len(state.launches), state.repeats
    text = f"{done} launch{'es' * (done > 1)}"
    if repeats.half_width is not None:
        text = f"±{percent_text(repeats.half_width, repeats.until)} after {text}"
    text = f"{state.name}: {text}"
    more = repeats.expected - done
    if more <= 0:
        if repeats.problem:
            return f"{text}, and no more: {repeats.problem}"
        if repeats.until is None:
            return ""
        return text if repeats.is_reached else f"{text}, which are all that --repeat allows"
    if repeats.until is None:
        text += f"; {more} more{', since ' * bool(repeats.problem)}{repeats.problem}"
    else:
        chance = ", by chance perhaps" if repeats.is_reached else ""
        about = "about" if repeats.expected > LEAST else "at least"
        goal = given_percent_text(repeats.until)
        text += f"{chance}; {about} {more} more for ±{goal}"
    seconds = state.launch_seconds
    return text if seconds is None else f"{text}, {duration_text(more * seconds)}"


def tell_launches(state: BenchmarkState, observer: ProgressObserver) -> None:
    done = len(state.launches)
    count = LaunchCount(done, max(done, state.repeats.expected), state.launch_seconds)
    observer.launch_ended(state.name, count, told_of_repeats(state), pauses=state.is_paused)
