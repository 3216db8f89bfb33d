"""Measures how far predictions are from the truth, and how often their intervals hold it.

    python -m tests.studies.planted_prediction [--times 500] [--launches 3]
        [--measured 1,2] [--only NAME]

Trainings under DDP are simulated by events: own work with noise, buckets that are ready one after
the other and reduced one after the other when the last rank has them, launches that differ. Their
points on a few nodes are predicted from, as the report does. The truth is the mean of 40,000 steps
on as many nodes. Printed are, for each number of nodes, the mean error of the predictions, the
largest of 95 % of them, and the share of the intervals that hold the truth; and the share of the
trainings that were refused because the model did not predict their largest point from the others.
"""

import argparse
from collections.abc import Mapping
from functools import cache

import numpy as np
from msgspec.structs import replace

from milabench_ddp.report.prediction.predict import FARTHEST, predicted
from tests.support.planted_scaling import Planted, alike, heavy, lognormal, ring, spikes, tree

DDP = Planted()
PLANTS: Mapping[str, Planted] = {
    "normal noise": DDP,
    "heavy tails": replace(DDP, noise=heavy),
    "AR(1) noise": replace(DDP, noise=alike),
    "lognormal": replace(DDP, noise=lognormal),
    "spikes": replace(DDP, noise=spikes),
    "negligible": replace(DDP, beta=1e9, hop=1e-4),
    "dominant": replace(DDP, before=2.0, backward=3.0),
    "all hidden": replace(DDP, sizes=(25e6, 25e6, 1e4), ready=(0.1, 0.2, 1.0)),
    "a slow ring": replace(DDP, hop=0.2, hops=ring),
    "a slow tree": replace(DDP, hop=0.5, hops=tree),
    "constant": replace(DDP, constant=1.0, hop=0.0),
    "hops^1.5": replace(DDP, hop=0.1, hops=lambda count: ring(count) ** 1.5),
    # on a few nodes the backward pass hides it
    "N^-0.3": replace(DDP, beta=16e6, congestion=lambda count: count**0.3),
    "N^-0.5": replace(DDP, beta=16e6, congestion=lambda count: count**0.5),
    "a star": replace(DDP, beta=16e6, congestion=float),
    "nodes differ": DDP,
    "changes at 8": replace(DDP, congestion=lambda count: 1.0 if count < 8 else 2.0),
    "no buckets": replace(DDP, told=False),
}
UNLIKE = {"nodes differ": 0.03}  # by how much, as a standard deviation
MEASURED = ("1,2,4", "1,2")
WANTED = (8, 32)
STEPS = 60  # of a launch
DRAWS = 60


@cache
def usual_truth(name: str, count: int) -> float:
    """The mean step where all nodes are alike."""
    return PLANTS[name].truth(count)


def tried(name: str, measured: str, times: int, launches: int) -> str:
    """A line about a training, predicted so many times."""
    counts = [int(count) for count in measured.split(",")]
    plant = PLANTS[name]
    wanted = [count for count in WANTED if count <= FARTHEST * counts[-1]]
    errors: dict[int, list[float]] = {count: [] for count in wanted}
    widths: dict[int, list[float]] = {count: [] for count in wanted}
    held: dict[int, int] = dict.fromkeys(wanted, 0)
    refused = 0
    for seed in range(times):
        chance = np.random.default_rng(seed)
        if differ := UNLIKE.get(name, 0.0):
            levels = 1 + differ * chance.standard_normal(wanted[-1])
            plant = replace(plant, levels=tuple(levels))
            truths = {count: plant.truth(count, 4000) for count in wanted}
        else:
            truths = {count: usual_truth(name, count) for count in wanted}
        points = plant.points(counts, launches, chance, STEPS)
        found = predicted(points, wanted, draws=DRAWS)
        refused += bool(found.refused)
        for each in found.predictions:
            if each.count in truths:
                truth = truths[each.count]
                errors[each.count].append(each.step_ms.value / truth - 1)
                widths[each.count].append(each.step_ms.half_width / each.step_ms.value)
                held[each.count] += each.step_ms.low <= truth <= each.step_ms.high
    shown = []
    for count in wanted:
        if those := errors[count]:
            mean, most = np.mean(those), np.quantile(np.abs(those), 0.95)
            width = np.median(widths[count])
            truth = f"{held[count] / len(those):.1%}"
            shown.append(f"{count}: {mean:+.2%} {most:.2%} ±{width:.2%} {truth}")
    return f"{name:13} {measured:6} refused {refused / times:6.1%}  {'   '.join(shown)}"


def main() -> None:
    """Print a line for each training and set of measured points."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=500)
    parser.add_argument("--launches", type=int, default=3, help="of each point")
    parser.add_argument("--measured", nargs="+", default=MEASURED, metavar="N,N", help="nodes")
    parser.add_argument("--only", nargs="+", choices=PLANTS, default=list(PLANTS))
    args = parser.parse_args()
    print("training      from             N: mean error, 95 % of errors below, truth in interval")
    for name in args.only:
        for measured in args.measured:
            print(tried(name, measured, args.times, args.launches), flush=True)


if __name__ == "__main__":
    main()
