"""Measures what is told of waits in tensor parallel modes and in pipelines, where it is known.

    python -m tests.studies.planted_bubbles [--modes tp tp-fsdp pdp pipeline] [--trials 5]
        [--clean 5]

Four ranks on this machine's CPU train a small GPT, one launch of torchrun for each mode. As in
``planted_stragglers.py``, time is moved by hand: a message between stages takes the clock of its
sender along, and a rank that awaits it waits until then. Printed are, without noise: how much more
is exposed, and how much longer steps are, where each collective, or message, takes longer by a
known time; for pipelines the bubble of each rank, as a fraction of passes and bubble, beside that
of GPipe with equal stages. Then the trials in which exactly the rank was named that takes 10 % of a
step longer in one phase, and in which also the phase was right; the clean trials in which one was
named; and how far the ledgers are from the mean step, at most.
"""

import argparse
import random
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as collectives
from torch.distributed.fsdp._fully_shard._fsdp_param_group import FSDPParamGroup
from torch.distributed.pipelining import schedules

from benchmarks.common import strategies
from benchmarks.common.group import Group
from benchmarks.common.marks import EXPOSED, Waits
from benchmarks.common.metrics import Emitter
from benchmarks.common.timing import StepTimer
from benchmarks.gpt import main as gpt
from benchmarks.gpt.shapes import Shape
from milabench_ddp.report.ranks.ledger import BUBBLE, launch_times
from milabench_ddp.results.records import Record
from tests.studies.planted_stragglers import (
    NOISE,
    PHASES,
    RANKS,
    WARMUP,
    SharedTime,
    gathered,
    judged,
    off,
    start_ranks,
)

MODES = {  # their options, and the ranks that wait for each other in collectives
    "tp": ("", [[0, 1, 2, 3]]),
    "tp-fsdp": ("--sequence-parallel", [[0, 1], [2, 3]]),
    "pdp": ("--schedule 1F1B --chunks 8", [[0, 2], [1, 3]]),
    "pipeline": ("--schedule GPipe --chunks 8", []),
}
SHARDS = {"tp-fsdp": [[0, 2], [1, 3]], "pdp": [[0, 2], [1, 3]]}  # that wait for each other's
MODEL = "--block-size 8 --vocab-size 64 --batch-size 4"
COLLECTIVE = 0.5  # ms of each collective and message
LATER = 0.25  # ms more of each
DELAY = 0.10  # of a step


class GroupTime(SharedTime):
    """Time that is moved by hand, and waits for the latest of the ranks that communicate."""

    def __init__(self) -> None:
        """Begin at 0."""
        super().__init__()
        self.each, self.count = COLLECTIVE, 0

    def meet(self, group: dist.ProcessGroup | None) -> None:
        """Wait for the latest rank of a group, and then communicate."""
        dist.all_reduce(self._ns, dist.ReduceOp.MAX, group=group)
        self.pass_on()

    def pass_on(self) -> None:
        """Communicate."""
        self.sleep(self.each)
        self.count += 1

    def sent(self, op: dist.P2POp) -> "Arrival | dist.Work":
        """The time of a message, which goes beside it."""
        other = {"group": op.group, "tag": 7}
        if op.op is dist.isend:
            work = dist.isend(self._ns.clone(), group_dst=op.group_peer, **other)
            assert work is not None
            return work
        return Arrival(self, op, **other)

    def until(self, ns: int) -> None:
        """Wait for a message that was sent at this time."""
        self._ns.clamp_(min=ns)
        self.pass_on()


class Arrival:
    """A message that will come."""

    def __init__(self, clock: GroupTime, op: dist.P2POp, **other: Any) -> None:
        """Receive the time at which it was sent."""
        self._clock, self._ns = clock, torch.zeros(1, dtype=torch.int64)
        self._work = dist.irecv(self._ns, group_src=op.group_peer, **other)

    def wait(self) -> None:
        """Wait until it has come."""
        assert self._work is not None
        self._work.wait()
        self._clock.until(int(self._ns))


class Trial:
    """A training, of which each phase may be slowed on this rank."""

    def __init__(self, mode: str, group: Group, clock: GroupTime) -> None:
        """Train in a mode; each phase takes as long as in ``PHASES``."""
        args = gpt.options().parse_args(f"{MODEL} --mode {mode} {MODES[mode][0]}".split())
        shape = Shape(4, 4, 32, vocabulary=64, block=8)
        self._workload = gpt.make_workload(args, shape)
        self._batches = gpt.make_source(args, shape, group).stream(0, 1)
        self._args, self._group, self._clock, self._mode = args, group, clock, mode
        self._chance = random.Random(group.rank)
        self._delays: Counter[str] = Counter()
        self._noise = 0.0

    def train(self, steps: int, noise: float, **delays: float) -> tuple[StepTimer, Record]:
        """Train, with each phase in ``delays`` longer by so many milliseconds; rank 0 has all."""
        self._delays, self._noise = Counter(delays), noise
        strategy = strategies.build(self._args, self._workload, self._group)
        stages = list(strategy.model.values()) if strategy.interleaved else [strategy.model]
        for stage in stages:
            block = self._workload.blocks(stage)[0]
            block.attention.register_forward_hook(self._passed)
        waits = Waits(self._clock)
        assert strategy.mark_waits(waits)
        passes = ("forward_backward",) if strategy.interleaved else ("forward", "backward")
        timer = StepTimer(
            self._clock,
            Emitter(lambda _: None),
            work=1,
            units="steps",
            parts=(*passes, "optimizer", "host"),
            waits=waits,
            now=self._clock.mark,
        )
        for _ in timer.steps(self._loaded(), steps, WARMUP):
            self._clock.count = 0
            if strategy.interleaved:
                strategy.forward_backward(next(self._batches))
            else:
                loss = strategy.forward(next(self._batches))
                timer.lap()
                strategy.backward(loss)
            timer.lap()
            self._work("optimizer")
            strategy.step()
            timer.lap()
            self._work("host")
        record = gathered(timer, self._mode)
        record.facts["model"].update(strategy.metrics())
        return timer, record

    def _loaded(self) -> Any:
        while True:
            self._work("data")
            yield

    def _passed(self, _: torch.nn.Module, __: object, output: torch.Tensor) -> None:
        passes = int(getattr(self._args, "chunks", 0) or 1)
        self._work("forward", passes)
        output.register_hook(lambda _: self._work("backward", passes))

    def _work(self, phase: str, pieces: int = 1) -> None:
        noise = self._chance.gauss(1, self._noise * pieces**0.5)
        self._clock.sleep((PHASES[phase] * noise + self._delays[phase]) / pieces)


def slow_down(mode: str, clock: GroupTime) -> None:
    """Let each wait of this rank take the time that is moved by hand."""
    mine = {}
    for name, groups in (("tensor", MODES[mode][1]), ("shards", SHARDS.get(mode, []))):
        for ranks in groups:
            group = dist.new_group(ranks)
            if dist.get_rank() in ranks:
                mine[name] = group
    wait, right = collectives.wait_tensor, schedules._batch_p2p

    def waited(tensor: torch.Tensor) -> torch.Tensor:
        clock.meet(mine["tensor"])
        return wait(tensor)

    def sent(ops: Sequence[dist.P2POp], desc: str | None = None) -> list[Any]:
        return [*right(ops, desc), *map(clock.sent, ops)]

    if "tp" in mode:
        collectives.wait_tensor = waited
    else:
        schedules._batch_p2p = sent
    if "shards" in mine:
        for name in ("wait_for_unshard", "finalize_backward"):
            _meet_in(name, partial(clock.meet, mine["shards"]))


def _meet_in(name: str, meet: Callable[[], None]) -> None:
    right = getattr(FSDPParamGroup, name)

    def met(group: FSDPParamGroup, *args: Any) -> Any:
        if name != "wait_for_unshard" or group._all_gather_result is not None:
            meet()
        return right(group, *args)

    setattr(FSDPParamGroup, name, met)


def without_noise(trial: Trial, clock: GroupTime, say: Callable[[str], None]) -> float:
    """Print what is exposed, and the bubble; returns the time of a step in ms."""
    before, record = trial.train(8, noise=0.0)
    clock.each += LATER
    after, _ = trial.train(8, noise=0.0)
    clock.each = COLLECTIVE
    exposed = [sum(timer.part_ms[EXPOSED]) / 8 for timer in (before, after)]
    grown, longer = exposed[1] - exposed[0], (sum(after.ms) - sum(before.ms)) / 8
    say(
        f"  {clock.count} waits of rank 0, {LATER} ms longer each: exposed {grown:+.3f} ms, "
        f"the step {longer:+.3f} ms"
    )
    times = launch_times(record, lambda _: 0) if dist.get_rank() == 0 else None
    if times is not None and times.pipelines.size > 1:
        items, size = times.ledger(), times.pipelines.size
        passes, bubble = items["forward_backward"], items[BUBBLE]
        told = ", ".join(f"{share:.4f}" for share in bubble / (passes + bubble))
        ideal = (size - 1) / (times.pipelines.microbatches + size - 1)
        say(f"  bubble of each rank {told}; of equal stages {ideal:.4f} and the messages")
    return sum(before.ms) / len(before.ms)


def worker(options: argparse.Namespace, mode: str) -> None:
    """Run the trials on this rank; rank 0 prints."""
    group, clock = Group.join("cpu"), GroupTime()
    torch.set_num_threads(1)
    slow_down(mode, clock)
    trial = Trial(mode, group, clock)
    say: Callable[[str], None] = partial(print, flush=True) if group.rank == 0 else lambda _: None
    clock.each = 0.0
    say(f"{mode} {MODES[mode][0]}, messages that take no time:")
    without_noise(trial, clock, say)
    say(f"{mode} {MODES[mode][0]}, {COLLECTIVE} ms each:")
    step, worst = without_noise(trial, clock, say), 0.0
    chance = random.Random(20261122)  # the same on all ranks
    if mode == "pipeline":
        say("  each rank has stages of its own: nobody can be named")
    for phase in PHASES if options.trials and mode != "pipeline" else ():
        part, ranks, both = phase, 0, 0
        if mode in ("pdp", "pipeline") and phase in ("forward", "backward"):
            part = "forward_backward"
        for _ in range(options.trials):
            slow = chance.randrange(RANKS)
            late = {phase: DELAY * step} if group.rank == slow else {}
            _, record = trial.train(options.steps, NOISE, **late)
            if group.rank == 0:
                named, worst = judged(record), max(worst, off(record))
                ranks += [rank for rank, _ in named] == [slow]
                both += named == [(slow, part)]
        say(f"  {DELAY:4.0%} in {phase:9}  rank {ranks}, and phase {both} of {options.trials}")
    alarms = 0
    for _ in range(options.clean):
        _, record = trial.train(options.steps, NOISE)
        alarms += group.rank == 0 and bool(judged(record))
    say(f"  clean: a rank named in {alarms} of {options.clean}; ledgers off by {worst:.2%} at most")
    group.leave()


def main() -> None:
    """Start the ranks for each mode."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--modes", nargs="+", default=list(MODES), choices=MODES)
    add("--trials", type=int, default=5)
    add("--clean", type=int, default=5)
    add("--steps", type=int, default=60)
    add("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(options, options.modes[0])
        return
    words = [f"--{name}={getattr(options, name)}" for name in ("trials", "clean", "steps")]
    for mode in options.modes:
        start_ranks("tests.studies.planted_bubbles", mode, *words)


if __name__ == "__main__":
    main()
