"""How long a run will take: in a sentence before it begins, and for its display."""

from collections.abc import Mapping, Sequence

from ..config.schema import Benchmark
from ..dispatch.run_context import RunPlan
from ..display.run_progress import Outline
from ..errors import count_text
from ..report.statistics.stopping import LEAST
from ..results.former import former_runs
from ..results.run_dir import RunDir
from ..results.state import RunHeader
from ..table import duration_text, given_percent_text


def forecast(plan: RunPlan, benchmarks: Sequence[Benchmark], former: Mapping[str, float]) -> str:
    """How often benchmarks are launched, and how long that takes by former runs; may be empty.

    Such as ``5 to 20 launches of each, until ±1%: 12 min to 48 min, by former runs``.

    Args:
        former: the seconds of a launch, by benchmark.
    """
    least = plan.repeats if plan.until is None else LEAST
    often = ""
    if plan.until is not None:
        count = str(least) if least == plan.repeats else f"{least} to {plan.repeats}"
        often = f"{count} launches of each, until ±{given_percent_text(plan.until)}"
    elif least > 1:
        often = f"{least} launches of each"
    known = [each for each in benchmarks if each.name in former]
    if not known:
        return f"{often}: the first ones tell how long they take" if often else ""
    # of nodes that are always busy
    share = {each.name: each.size(plan.nodes) / plan.nodes for each in known}
    once = sum(former[each.name] * share[each.name] for each in known)
    long = f"about {duration_text(least * once)}"
    if plan.repeats > least:
        long = f"{duration_text(least * once)} to {duration_text(plan.repeats * once)}"
    text = ": ".join(filter(None, [often, f"{long}, by former runs"]))
    new = len(benchmarks) - len(known)
    if new:
        text += f", without {count_text(new, 'benchmark')} that none of them had"
    return text


def outline(
    run: RunDir, header: RunHeader, plan: RunPlan | None, names: Sequence[str], *, is_watched: bool
) -> Outline:
    """What a display needs to know of a run.

    Args:
        plan: of the run; None if it cannot be read.
        is_watched: whether another command runs it.
    """
    launches = 1
    if plan is not None:
        launches = plan.repeats if plan.until is None else LEAST
    sends_events = plan is not None and plan.runner is None and not is_watched
    seconds = former_runs(run, header, with_own=is_watched)
    side = run.name if header.sides and not is_watched else ""
    return Outline(names, launches, seconds, run, sends_events, side)
