"""Measures how often the report names a rank that was slowed on purpose, and the right phase.

    python -m tests.studies.planted_stragglers [--modes ddp fsdp] [--trials 20] [--clean 50]
        [--real]

Four ranks on this machine's CPU train a small GPT under DDP or FSDP, one launch of torchrun for
each mode. Time is moved by hand: each phase takes a rank a given time, which varies by 5 % from
step to step, and where ranks communicate, their clocks wait for the latest. So marks, waits and
report are the real ones, and the result does not depend on the machine. With --real the phases are
slept, which needs a quiet machine. Rank 0 reads the times of all ranks as the report does.

In a trial a random rank takes 5 or 10 % of a step longer in one phase: how often is exactly this
rank named, with its phase; how far are the ledgers from the mean step; is a rank named in clean
trials? Then a rank takes 1.16, 1.40 or 2.03 times as long in all phases, or two ranks 1.40 times
in a phase each: how far is the predicted step without them from that of a clean trial?
"""

import argparse
import random
import subprocess
import sys
import time
from array import array
from collections.abc import Callable, Iterator, Mapping
from functools import partial, partialmethod
from pathlib import Path
from statistics import fmean

import torch
import torch.distributed as dist
from torch.distributed.fsdp._fully_shard._fsdp_param_group import FSDPParamGroup

from benchmarks.common import data, strategies
from benchmarks.common.clocks import HostClock
from benchmarks.common.group import Group
from benchmarks.common.marks import Waits
from benchmarks.common.metrics import Emitter
from benchmarks.common.strategies import Strategy
from benchmarks.common.timing import StepTimer
from benchmarks.gpt import main as gpt
from benchmarks.gpt.shapes import Shape
from milabench_ddp.report.ranks.ledger import launch_times
from milabench_ddp.report.ranks.rank_summary import peers, summarize_ranks
from milabench_ddp.report.ranks.stragglers import slowest_part, stragglers
from milabench_ddp.report.statistics.batch_means import mean_error
from milabench_ddp.results.rank import Rank
from milabench_ddp.results.records import Record

PHASES = {"data": 2.0, "forward": 15.0, "backward": 25.0, "optimizer": 5.0, "host": 3.0}  # ms
NOISE = 0.05  # of a phase, from step to step
EXPOSED, GATHER = 6.0, 0.3  # ms of communication: at the end of DDP's step, at each wait of FSDP
DELAYS = (0.10, 0.05)  # of a step
RANKS, WARMUP = 4, 8
FACTORS = (1.16, 1.40, 2.03)  # of all phases of a rank
TWO_SLOW = {1: "backward", 3: "forward"}  # ranks, each with its phase
SHAPE = Shape(1, 1, 16, vocabulary=64, block=8)  # each block more communicates once more
OPTIONS = "--batch-size 1 --optimizer sgd"
Named = list[tuple[int, str]]  # ranks, each with its phase
# Trains with some ranks slowed, by so many ms in some phases; on rank 0 the record has all ranks
Run = Callable[[Mapping[int, Mapping[str, float]]], Record]


class SharedTime(HostClock):
    """Time that is moved by hand on each rank, and waits for the latest where ranks communicate."""

    def __init__(self) -> None:
        """Begin at 0."""
        self._ns = torch.zeros(1, dtype=torch.int64)

    def mark(self) -> int:
        """The time in ns."""
        return int(self._ns)

    def sleep(self, ms: float) -> None:
        """Let some time pass on this rank."""
        self._ns += round(ms * 1e6)

    def communicate(self, ms: float) -> None:
        """Wait for the latest rank, and then communicate for so long."""
        dist.all_reduce(self._ns, dist.ReduceOp.MAX)
        self.sleep(ms)


class RealTime(HostClock):
    """The host's time, which is slept; ranks wait where they communicate, by themselves."""

    def sleep(self, ms: float) -> None:
        """Let some time pass."""
        time.sleep(ms / 1e3)

    def communicate(self, ms: float) -> None:
        """They have."""


class Trial:
    """A training, of which each phase may be slowed on this rank."""

    def __init__(
        self, args: argparse.Namespace, group: Group, clock: SharedTime | RealTime
    ) -> None:
        """Train as the options say; each phase takes as long as in ``PHASES``, by the clock."""
        self._workload = gpt.make_workload(args, SHAPE)
        self._source = gpt.make_source(args, SHAPE, group)
        self._args, self._group, self._clock = args, group, clock
        self._ms = PHASES
        self._chance = random.Random(group.rank)

    def train(self, steps: int, **delays: float) -> StepTimer:
        """Train, with each phase in ``delays`` longer by so many milliseconds."""
        self._ms = {phase: ms + delays.get(phase, 0.0) for phase, ms in PHASES.items()}
        strategy = strategies.build(self._args, self._workload, self._group)
        model = getattr(strategy.model, "module", strategy.model)
        blocks = list(self._workload.blocks(model))
        for block in blocks:
            # Inside the block: a hook on the block itself would be among those of FSDP.
            inner = next(block.children())
            inner.register_forward_hook(partial(self._passed, len(blocks)))
        waits = Waits(self._clock)
        timer = StepTimer(
            self._clock,
            Emitter(lambda _: None),
            work=1,
            units="steps",
            parts=("forward", "backward", "optimizer", "host"),
            waits=waits if strategy.mark_waits(waits) else None,
            now=self._clock.mark,
        )
        dist.barrier()
        for batch in timer.steps(self._batches(), steps, WARMUP):
            self._step(timer, strategy, batch)
        return timer

    def _step(self, timer: StepTimer, strategy: Strategy, batch: data.Batch) -> None:
        loss = strategy.forward(batch)
        timer.lap()
        strategy.backward(loss)
        if self._args.mode == "ddp":
            self._clock.communicate(EXPOSED)
        timer.lap()
        self._work("optimizer")
        strategy.step()
        timer.lap()
        self._work("host")

    def _batches(self) -> Iterator[data.Batch]:
        for batch in self._source.stream(self._group.rank, self._group.world_size):
            self._work("data")
            yield batch

    def _passed(self, blocks: int, _: torch.nn.Module, __: object, output: torch.Tensor) -> None:
        self._work("forward", blocks)
        output.register_hook(lambda _: self._work("backward", blocks))

    def _work(self, phase: str, pieces: int = 1) -> None:
        """Take the time of one of equal pieces of a phase."""
        noise = self._chance.gauss(1, NOISE * pieces**0.5)
        self._clock.sleep((self._ms[phase] + PHASES[phase] * (noise - 1)) / pieces)


def gathered(timer: StepTimer, mode: str) -> Record:
    """On rank 0 all ranks, as a report reads them; elsewhere none."""
    mine = Rank(timer.ms, array("f", timer.wait_ms), {})
    mine.parts.update({name: array("f", ms) for name, ms in timer.part_ms.items()})
    found: list[Rank | None] = [None] * RANKS
    dist.gather_object(mine, found if dist.get_rank() == 0 else None)
    record = Record(Path("runs/planted/b.0.data"), facts={"model": {"mode": mode}})
    record.ranks.update({n: rank for n, rank in enumerate(found) if rank is not None})
    return record


def judged(record: Record) -> Named:
    """The ranks that the report names."""
    named: Named = []
    for ranks in peers(summarize_ranks([(record, lambda _: 0)])):
        named += [(rank.id.rank, slowest_part(rank, ranks)) for rank in stragglers(ranks)[0]]
    return named


def off(record: Record) -> float:
    """By how much a ledger differs from the mean step, as a fraction, at most."""
    times = launch_times(record, lambda _: 0)
    if times is None:
        return 0.0
    whole = sum(times.ledger().values())
    steps = [sum(rank.ms) / len(rank.ms) for rank in record.ranks.values()]
    return max(abs(float(a) / b - 1) for a, b in zip(whole, steps, strict=True))


def delayed(trials: int, step: float, chance: random.Random, run: Run) -> Iterator[str]:
    """How often a rank that is late in one phase is named; ``step`` is in ms."""
    worst = 0.0
    for delay in DELAYS:
        for phase in PHASES:
            ranks, both = 0, 0
            for _ in range(trials):
                slow = chance.randrange(RANKS)
                record = run({slow: {phase: delay * step}})
                named, worst = judged(record), max(worst, off(record))
                ranks += [rank for rank, _ in named] == [slow]
                both += named == [(slow, phase)]
            yield f"  {delay:4.0%} in {phase:9}  rank {ranks}, and phase {both} of {trials}"
    yield f"  the ledgers are off by {worst:.2%} at most"


def clean(trials: int, run: Run) -> Iterator[str]:
    """How often a rank is named though none is slow."""
    alarms = [judged(run({})) for _ in range(trials)]
    yield f"  clean: a rank named in {sum(map(bool, alarms))} of {trials}"


def what_ifs(step: float, chance: random.Random, run: Run) -> Iterator[str]:
    """The steps that are predicted without slow ranks, beside the one without any, in ms."""
    plans = []
    for factor in FACTORS:
        late = {phase: (factor - 1) * ms for phase, ms in PHASES.items()}
        plans.append((f"a rank {factor:.2f} times as long", {chance.randrange(RANKS): late}))
    late_in = {rank: {phase: 0.4 * PHASES[phase]} for rank, phase in TWO_SLOW.items()}
    plans.append((f"two ranks 1.40 times as long in {' and '.join(TWO_SLOW.values())}", late_in))
    for what, slow in plans:
        record = run(slow)
        if record.ranks:
            yield f"  {what}: {predicted(record, step)}"


def predicted(record: Record, clean: float) -> str:
    """The step if the ranks that the report names were as fast as the others."""
    times = launch_times(record, lambda _: 0)
    if times is None:
        return "not known"
    named = dict(judged(record))
    then = times.steps([id for id in times.ids if id.rank in named])
    who = ", ".join(f"{rank} ({phase})" for rank, phase in named.items()) or "none"
    return (
        f"{times.steps().mean():.2f} ms, named: {who}; without {then.mean():.2f} "
        f"±{mean_error(then).half_width:.2f} ms, measured {clean:.2f}: "
        f"off by {then.mean() / clean - 1:+.1%}"
    )


def _gathering(self: FSDPParamGroup, clock: SharedTime, right: Callable[..., None]) -> None:
    clock.communicate(GATHER)
    right(self)


def worker(options: argparse.Namespace, mode: str) -> None:
    """Run the trials on this rank; rank 0 prints."""
    args = gpt.options().parse_args([*OPTIONS.split(), "--mode", mode])
    group = Group.join("cpu")
    torch.set_num_threads(1)
    clock = RealTime() if options.real else SharedTime()
    if isinstance(clock, SharedTime):  # FSDP waits in these two
        for name in ("wait_for_unshard", "finalize_backward"):
            wait = partialmethod(_gathering, clock, getattr(FSDPParamGroup, name))
            setattr(FSDPParamGroup, name, wait)
    trial = Trial(args, group, clock)
    say: Callable[[str], None] = partial(print, flush=True) if group.rank == 0 else lambda _: None
    steps = torch.tensor([fmean(trial.train(options.steps).ms) for _ in range(3)])
    dist.broadcast(steps, 0)
    step = float(steps.mean())
    say(f"{mode}: a step of {step:.1f} ms, {options.steps} steps a trial")
    chance = random.Random(20261122)  # the same on all ranks

    def run(slow: Mapping[int, Mapping[str, float]]) -> Record:
        return gathered(trial.train(options.steps, **slow.get(group.rank, {})), mode)

    delays = delayed(options.trials, step, chance, run)
    for line in (*delays, *clean(options.clean, run), *what_ifs(step, chance, run)):
        say(line)
    group.leave()


def start_ranks(program: str, mode: str, *options: str) -> None:
    """Run the trials of a mode: the program as a worker on each rank, under torchrun."""
    run = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    run += [f"--nproc-per-node={RANKS}", "-m", program, *options, "--worker", "--modes", mode]
    subprocess.run(run, check=True)


def main() -> None:
    """Start the ranks for each mode."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--modes", nargs="+", default=["ddp", "fsdp"])
    add("--trials", type=int, default=20)
    add("--clean", type=int, default=50)
    add("--steps", type=int, default=120)
    add("--real", action="store_true", help="sleep, instead of to move time by hand")
    add("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        worker(options, options.modes[0])
        return
    words = [f"--{name}={getattr(options, name)}" for name in ("trials", "clean", "steps")]
    words += ["--real"] * options.real
    for mode in options.modes:
        start_ranks("tests.studies.planted_stragglers", mode, *words)


if __name__ == "__main__":
    main()
