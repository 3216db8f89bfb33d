"""Findings about the stages of pipelines."""

from ...table import Measured
from ..model import Finding, Findings, Row
from ..process import counted
from ..ranks.ledger import launch_times
from ..ranks.pipelines import stages_text
from ..statistics.batch_means import mean_error

MATTERS = 0.05  # of a step


def uneven_stages(row: Row) -> Findings:
    """The bottleneck of pipelines: the rank of each that has more to do than the others."""
    import numpy as np

    known = [launch_times(each.record, each.unsteady_of) for each in counted(row.processes)]
    launches = [times for times in known if times is not None and times.pipelines.size > 1]
    if not launches:
        return
    now = np.concatenate([times.steps() for times in launches])
    even = np.concatenate([times.even_steps() for times in launches])
    ratio = float(now.mean() / even.mean())
    error = mean_error(now - ratio * even).half_width / float(even.mean())
    if not ratio - 1 - error > MATTERS:
        return
    levels = np.mean([times.own_by_place() for times in launches], axis=0)
    place = int(levels.argmax())
    own, mean = float(levels[place]), float(levels.mean())
    stages = launches[0].pipelines.stages[place]
    label = stages_text(stages)
    name = f"stage {label}" if len(stages) == 1 else f"the rank with stages {label}"
    faster = Measured(ratio - 1, error, with_error=True)
    sentence = (
        f"{name} is the bottleneck of its pipeline ({own:.5g} ms of own work a step, on average it "
        f"is {mean:.5g}): with even stages, steps would be {faster.text('.1%')} faster"
    )
    evidence = {"own_ms": own, "mean_ms": mean, "faster": ratio - 1, "faster_error": error}
    yield Finding(sentence, place=name, evidence=evidence)
