"""Started by torchrun: a model that no rank holds is built and trained; says what was seen."""

import json
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[4]))
from benchmarks.common import strategies
from benchmarks.common.group import Group
from benchmarks.gpt import model as gpt
from tests.support.live_memory import Live
from tests.support.strategies import batch, option_parser, workload

SHAPE = gpt.Shape(layers=16, heads=4, width=32, vocabulary=64, block=16)
MODES = ("--mode fsdp", "--mode tp", "--mode pipeline")


def trained(argv, group):
    """The peak while it was built, and the losses of 20 steps on one batch."""
    args = option_parser().parse_args(argv.split())
    deep = replace(workload(args), make_model=partial(gpt.make, SHAPE))
    with Live() as seen:
        strategy = strategies.build(args, deep, group)
    fixed = batch(0, strategy.data_parallel_rank)
    losses = []
    for _ in range(20):
        losses.append(float(strategy.forward_backward(fixed)))
        strategy.step()
    return {"mode": args.mode, "peak": seen.peak / (4 * SHAPE.parameters), "losses": losses}


if __name__ == "__main__":
    group = Group.join("cpu")
    told = [group.gather(trained(argv, group)) for argv in MODES]
    if group.rank == 0:
        Path(sys.argv[1]).write_text(json.dumps(told))
    group.leave()
