"""Findings about pipelines: which stage all wait for, and why no rank is named."""

from ..finding import Finding, Findings
from ..model import Row
from ..ranks.ledger import LaunchTimes
from ..ranks.pipelines import stages_text
from ..ranks.rank_summary import peers
from ..ranks.stragglers import can_be_judged, fewest_steps
from .what_if import faster, launches_of

MATTERS = 0.05  # of a step


def uneven_stages(row: Row) -> Findings:
    """The bottleneck of pipelines: the rank of each that has more to do than the others."""
    from ...numerics import np

    launches = launches_of(row)
    gain = faster(row, LaunchTimes.even_steps)
    if gain is None or not float(gain) - gain.error > MATTERS:
        return
    levels = np.mean([times.own_by_place() for times in launches], axis=0)
    place = int(levels.argmax())
    own, mean = float(levels[place]), float(levels.mean())
    stages = launches[0].pipelines.stages[place]
    label = stages_text(stages)
    name = f"stage {label}" if len(stages) == 1 else f"the rank with stages {label}"
    sentence = (
        f"{name} is the bottleneck of its pipeline ({own:.5g} ms of own work a step, on average it "
        f"is {mean:.5g}): with even stages, steps would be {gain.text('.1%')} faster"
    )
    evidence = {"own_ms": own, "mean_ms": mean, "faster": float(gain), "faster_error": gain.error}
    yield Finding(sentence, place=name, evidence=evidence)


def not_compared(row: Row) -> Findings:
    """Why none of several ranks could be named as slow, in modes where it cannot be known."""
    why = row.reported("model").get("waits_unknown")
    if len(row.ranks) > 1 and all(len(group) == 1 for group in peers(row.ranks)):
        why = "each has other stages of the model; the ledger has the bubble of each"
    for group in () if why else peers(row.ranks):
        known = [rank for rank in group if rank.local]
        if len(known) > 1 and all(each.blocks for each in known) and not can_be_judged(known):
            steps = min(each.steps for each in known)
            why = f"{steps} steps are too few, it takes {fewest_steps(known)}"
    if why:
        yield Finding(f"its ranks are not compared: {why}", evidence={"why": why})
