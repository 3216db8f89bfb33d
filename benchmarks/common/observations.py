"""Times an operation that ranks call together, many times in a row."""

from array import array
from collections.abc import Callable

from benchmarks.common.clocks import clock_of
from benchmarks.common.session import Session


def timed_observations(
    run: Session,
    call: Callable[[], object],
    number: int,
    repeat: int,
    warmup: int,
    seconds: float | None = None,
    part: tuple[int, int] = (0, 1),
) -> array:
    """Milliseconds of the warm-up, and of each observation of ``number`` calls.

    There are as many observations as take ``seconds``, but at least ``repeat``, and fewer where
    they would not end in time (see ``Session.fitting``). ``part`` says how many measurements are
    done of all that share the seconds and the time. All ranks of the process group come here
    together, because they wait for each other after the warm-up. No rank waits between
    observations.
    """
    call = run.plants.called(call, run.device)
    done, parts = part
    clock = clock_of(run.device)
    begin = clock.mark()
    for _ in range(warmup):
        call()
    end = clock.mark()
    clock.wait(end)
    observation_ms = clock.milliseconds(begin, end) / warmup * number
    own_seconds = seconds and seconds / parts
    share = 2 / (2 * parts - done)  # of what the parts before left, so that all have as much
    repeat = run.fitting(repeat, observation_ms, own_seconds, share, fewest=1)
    call()  # fills the device's queue, which has run empty in the barrier
    marks = [clock.mark()]
    for _ in range(repeat):
        for _ in range(number):
            call()
        marks.append(clock.mark())
    clock.wait(marks[-1])
    return array("d", map(clock.milliseconds, [begin, *marks[:-1]], [end, *marks[1:]]))
