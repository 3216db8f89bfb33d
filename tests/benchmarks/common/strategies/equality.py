"""Started by torchrun: checks every command line of a file, all in one process group.

    torchrun ... equality.py CASES VERDICTS

A line of CASES is ``name: options``, a line of VERDICTS the JSON of one verdict. A name that begins
with ``planted-`` is built with the error of that name.
"""

import json
import sys
from functools import partial
from pathlib import Path

from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(Path(__file__).resolve().parents[4]))
from benchmarks.common import correctness, strategies
from benchmarks.common.failure import UnsupportedError
from benchmarks.common.group import Group
from benchmarks.common.strategies import pipeline
from tests.support.strategies import batch, option_parser, workload


def before_reduction(strategy, group):
    """Rank 1 is off by a thousandth before the replicas average: all have the same wrong sum."""
    if group.rank == 1:
        for parameter in strategy.model.parameters():
            parameter.register_hook(lambda gradient: gradient * 1.001)


def after_reduction(strategy, group):
    """Rank 1 is off by a thousandth where it updates its parameters: the replicas drift apart."""
    step = strategy.step

    def scaled():
        if group.rank == 1:
            for parameter in strategy.model.parameters():
                parameter.grad.mul_(1.001)
        step()

    strategy.step = scaled


def factory(name, args, work, group):
    if name == "planted-trap":
        right = pipeline.average
        pipeline.average = lambda stage, blocks, mesh, setup: DistributedDataParallel(
            setup.placed(stage), process_group=mesh.get_group(), static_graph=True
        )
        try:
            return strategies.build(args, work, group)
        finally:
            pipeline.average = right
    strategy = strategies.build(args, work, group)
    if name == "planted-before":
        before_reduction(strategy, group)
    elif name == "planted-after":
        after_reduction(strategy, group)
    return strategy


def main(cases, verdicts):
    group = Group.join("cpu")
    for line in Path(cases).read_text().splitlines():
        name, _, argv = line.partition(": ")
        args = option_parser().parse_args(argv.split())
        try:
            verdict = correctness.check(args, workload(args), group, partial(factory, name), batch)
            told = verdict.payload() if verdict else {}
        except UnsupportedError as refusal:
            told = {"refused": str(refusal)}
        if group.rank == 0:
            with Path(verdicts).open("a") as file:
                print(json.dumps({"name": name} | told), file=file, flush=True)
    group.leave()


if __name__ == "__main__":
    main(*sys.argv[1:])
