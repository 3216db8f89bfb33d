"""Findings about communication that nothing hides."""

from ..finding import Finding, Findings
from ..model import Row
from ..ranks.ledger import LaunchTimes
from ..statistics.values import mean
from .what_if import condition, faster, launches_of

# By how much steps would be faster without it, at the lower end of the interval. In published runs
# 1 to 8 % of a step are exposed; waits for data and for the host are told from a tenth on, too.
MOST_EXPOSED = 0.1
FEWEST_STEPS = 10
HIDDEN = "hidden_communication_ms"  # as the programs tell it


def exposed_communication(row: Row) -> Findings:
    """A benchmark that would be more than a tenth faster if all of its communication were hidden.

    That gain does not heed the waits for slower ranks, which are exposed, too: they would stay.
    Pipelines have bubbles instead.
    """
    launches = launches_of(row)
    if any(times.pipelines.size > 1 or times.exposed.shape[1] < FEWEST_STEPS for times in launches):
        return
    gain = faster(row, LaunchTimes.hidden_steps)
    if gain is None or not float(gain) - gain.error > MOST_EXPOSED:
        return
    communication = mean(float(times.communication.mean()) for times in launches)
    exposed = mean(float(times.exposed.mean()) for times in launches)
    step = mean(float(times.whole.mean()) for times in launches)
    waiting = exposed - communication
    hidden = row.told_mean(HIDDEN)
    sentence = (
        f"exposed communication is {exposed / step:.0%} of a step "
        f"({exposed:.4g} of {step:.4g} ms): {communication / step:.0%} communication, "
        f"{waiting / step:.0%} waits for slower ranks"
    )
    if hidden >= 0:
        sentence += f"; the backward pass hides {hidden:.4g} ms more"
    sentence += f"; if all communication were hidden, steps would be {gain.text('.1%')} faster"
    sentence += condition(row)
    evidence = {"share": exposed / step, "exposed_ms": exposed, "hidden_ms": hidden}
    evidence |= {"communication_ms": communication, "waiting_ms": waiting}
    evidence |= {"faster": float(gain), "faster_error": gain.error}
    yield Finding(sentence, evidence=evidence)
