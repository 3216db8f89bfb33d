"""Measures how often the report finds pauses that recur, and finds some where none do.

    python -m tests.studies.planted_jitter [--series 100] [--steps 60 200 1000 10000] [--ranks 4 64]

The own work of each rank is made up: 100 ms a step, with noise. First come pauses of 20 ms whose
truth is known, staggered over the ranks. Columns: the share of the series whose answer is right as
a whole (one recurrence, its period within a step, its size within 5 %, its part, all of its ranks
and no other), and the shares with each of these; "n/a" where the series have fewer than four pauses
of each rank, in which nothing recurs. Then come series in which nothing recurs, by the share of
them in which something was found. The last row of each is over all of them.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from milabench_ddp.report.ranks.jitter import Jitter, jitters
from milabench_ddp.report.ranks.rank_launch import EXPOSED, RankLaunch
from milabench_ddp.report.ranks.rank_summary import RankId
from milabench_ddp.results.rank import Rank
from milabench_ddp.results.records import Record
from milabench_ddp.table import Column, Table, text_lines

Floats = NDArray[np.float64]
Draw = np.random.Generator
Kind = Callable[[Draw, int, int], Floats]  # ranks and steps -> ms more than 100, of each

STEP, PAUSE = 100.0, 20.0  # ms
SHARES = {"data": 0.05, "forward": 0.3, "backward": 0.5, "optimizer": 0.1, "host": 0.05}
FEWEST = 4  # pauses


@dataclass(frozen=True)
class Planted:
    """Pauses that recur, in some noise."""

    noise: Kind
    period: float = 50.0  # steps
    part: str = "host"
    on_all: bool = True  # ranks, or on the last alone
    late: int = 0  # by how many steps a pause may be early or late


def noise(std: float) -> Kind:
    """Normal noise."""
    return lambda draw, ranks, steps: std * draw.standard_normal((ranks, steps))


def tails(std: float) -> Kind:
    """Student's t with two degrees of freedom: its variance is infinite."""
    return lambda draw, ranks, steps: std * draw.standard_t(2, (ranks, steps))


def lognormal(sigma: float) -> Kind:
    """Tails on one side."""
    return lambda draw, ranks, steps: STEP * (draw.lognormal(0, sigma, (ranks, steps)) - 1)


def autoregressive(alike: float, normal: bool) -> Kind:
    """Neighbouring steps that are alike."""

    def kind(draw: Draw, ranks: int, steps: int) -> Floats:
        shocks = (
            draw.standard_normal((ranks, steps)) if normal else draw.standard_t(2, (ranks, steps))
        )
        for step in range(1, steps):
            shocks[:, step] += alike * shocks[:, step - 1]
        return shocks

    return kind


def load(share: float) -> Kind:
    """Load that comes for a time and goes, on all ranks: then half of the steps are longer."""

    def kind(draw: Draw, ranks: int, steps: int) -> Floats:
        busy, step = np.zeros(steps), 0
        while step < steps:
            step += int(draw.exponential(share * steps))
            length = 1 + int(draw.exponential(share * steps / 2))
            busy[step : step + length] = 1
            step += length
        longer = 30 * draw.random((ranks, steps)) * (draw.random((ranks, steps)) < 0.5)
        return draw.standard_normal((ranks, steps)) + busy * longer

    return kind


def by_chance(each: float, *, together: bool) -> Kind:
    """Pauses without a period: a share of the steps, or so many in a series."""

    def kind(draw: Draw, ranks: int, steps: int) -> Floats:
        paused = draw.random((1 if together else ranks, steps)) < (
            each if each < 1 else each / steps
        )
        return draw.standard_normal((ranks, steps)) + PAUSE * paused

    return kind


def ramp(draw: Draw, ranks: int, steps: int) -> Floats:
    """Steps that become longer, to the end."""
    return draw.standard_normal((ranks, steps)) + np.linspace(0, STEP / 2, steps)


def levels(draw: Draw, ranks: int, steps: int) -> Floats:
    """Two levels in turn, by chance."""
    high = np.cumsum(draw.random(steps) < 8 / steps) % 2
    return draw.standard_normal((ranks, steps)) + 8.0 * high


def ticks(draw: Draw, ranks: int, steps: int) -> Floats:
    """A clock that ticks five times in a step."""
    ends = np.floor(np.cumsum(5 + 0.05 * draw.standard_normal((ranks, steps)), axis=1))
    return STEP / 5 * np.diff(ends, axis=1, prepend=0) - STEP


PLANTED: Mapping[str, Planted] = {
    "every 50, noise of 2 %": Planted(noise(2)),
    "every 50, tails of t(2)": Planted(tails(1)),
    "every 50, other pauses": Planted(by_chance(0.01, together=False)),
    "every 50, load": Planted(load(0.2)),
    "every 50 on one rank": Planted(noise(2), on_all=False),
    "every 50 ±1": Planted(noise(2), late=1, part="forward"),
    "every 133.3": Planted(noise(2), 133.3, part="optimizer"),
    "every 7, in backward": Planted(noise(2), 7, part="backward"),
    "every 5, in data": Planted(noise(2), 5, part="data"),
}
CLEAN: Mapping[str, Kind] = {
    "normal": noise(1),
    "t(2)": tails(2),
    "lognormal, sigma 0.5": lognormal(0.5),
    "lognormal, sigma 1.5": lognormal(1.5),
    "AR(1), 0.9": autoregressive(0.9, normal=True),
    "AR(1), 0.7, t(2)": autoregressive(0.7, normal=False),
    "load, long": load(0.2),
    "load, short": load(0.02),
    "pauses of each rank, 2 %": by_chance(0.02, together=False),
    "pauses of each rank, five": by_chance(5, together=False),
    "pauses of all ranks, 2 %": by_chance(0.02, together=True),
    "pauses of all ranks, five": by_chance(5, together=True),
    "one pause": by_chance(1, together=True),
    "ramp": ramp,
    "two levels": levels,
    "five ticks": ticks,
}


def found_in(parts: Mapping[str, Floats]) -> list[Jitter]:
    """What the report finds in a job: the own work of its ranks, and its communication."""
    own = np.sum(list(parts.values()), axis=0)
    exposed = own.max(axis=0) - own + PAUSE
    record = Record(Path("b.data"), facts={"model": {"mode": "ddp"}})
    launches = []
    for rank in range(len(own)):
        of_rank = {name: ms[rank] for name, ms in parts.items()} | {EXPOSED: exposed[rank]}
        launch = RankLaunch(record, Rank(), own[rank] + exposed[rank], of_rank)
        launches.append((RankId("", 0, rank, f"rank {rank}"), launch))
    return jitters(launches)


def spread_over_parts(more: Floats) -> dict[str, Floats]:
    """Steps of 100 ms, and the noise of each, in parts."""
    times = np.maximum(STEP + more, 0.1 * STEP)
    return {name: share * times for name, share in SHARES.items()}


def planted_row(name: str, plan: Planted, ranks: int, steps: int, series: int) -> Sequence[object]:
    """How often the answer was right."""
    of_ranks = list(range(ranks)) if plan.on_all else [ranks - 1]
    if steps < FEWEST * plan.period:
        return name, steps, ranks, "n/a"
    right = np.zeros((series, 6), dtype=bool)
    for k in range(series):
        draw = np.random.default_rng([k, ranks, steps])
        parts = spread_over_parts(plan.noise(draw, ranks, steps))
        for rank in of_ranks:
            first = plan.period * (rank / ranks + draw.random() / ranks)
            at = np.rint(np.arange(first, steps, plan.period)).astype(int)
            at += draw.integers(-plan.late, plan.late + 1, len(at))
            parts[plan.part][rank, at[(at >= 0) & (at < steps)]] += PAUSE
        answers = found_in(parts)
        if answers:
            best = answers[0]
            right[k, 1:] = (
                len(answers) == 1,
                abs(best.steps - plan.period) <= 1,
                abs(best.ms - PAUSE) <= 0.05 * PAUSE,
                best.parts == (plan.part,),
                [id.rank for id in best.ids] == of_ranks,
            )
            right[k, 0] = right[k, 1:].all()
    return name, steps, ranks, *right.mean(axis=0)


def clean_row(name: str, kind: Kind, ranks: int, steps: int, series: int) -> Sequence[object]:
    """How often something was found."""
    found = 0
    for k in range(series):
        draw = np.random.default_rng([k, ranks, steps])
        found += bool(found_in(spread_over_parts(kind(draw, ranks, steps))))
    return name, steps, ranks, series, found


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--series", type=int, default=100)
    parser.add_argument("--steps", type=int, nargs="+", default=[60, 200, 1000, 10000])
    parser.add_argument("--ranks", type=int, nargs="+", default=[4, 64])
    args = parser.parse_args()
    settings = [(ranks, steps) for ranks in args.ranks for steps in args.steps]
    titles = ("right", "one", "period", "size", "part", "ranks")
    columns = [Column("kind"), Column("steps", "d"), Column("of ranks", "d")]
    rows = []
    for name, plan in PLANTED.items():
        for ranks, steps in settings:
            row = planted_row(name, plan, ranks, steps, args.series)
            if "n/a" not in row:
                rows.append(tuple(row))
    shares = [Column(title, ".0%") for title in titles]
    print(*text_lines(Table((*columns, *shares), tuple(rows), "Pauses that recur")), sep="\n")
    clean = []
    for name, kind in CLEAN.items():
        for ranks, steps in settings:
            clean.append(tuple(clean_row(name, kind, ranks, steps, args.series)))
    clean.append(("all", 0, 0, sum(row[3] for row in clean), sum(row[4] for row in clean)))
    counts = [Column("series", "d"), Column("found", "d")]
    print(*text_lines(Table((*columns, *counts), tuple(clean), "Nothing recurs")), sep="\n")


if __name__ == "__main__":
    main()
