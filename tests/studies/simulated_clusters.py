"""Counts false and missed defects in made-up clusters whose devices spread as healthy ones do.

    python -m tests.studies.simulated_clusters [--clusters 1000] [--seed 1]

A cluster has 1 to 1,024 nodes of 8 devices, and a validation of 5 benchmarks. The silicon of a
device speeds up all of them, each by its own share, memory by hardly any. Nodes differ by 0.3 %
(their cooling), and each measurement by 0.3 % (all standard deviations, of normal distributions).
Columns, in percent:

alarms    clusters without a defect of which a device or a node is found below its peers
5 % lower  found: a device that is 5 % slower than the slowest of its kind, in one benchmark
promised  found: a device of any speed, slower by as much as the report promises to find
node      found: a node all of whose devices are as much slower as the report promises for nodes
third     found: devices of the third of nodes that became 10 % slower; and others ("false")
smallest  the median of what the report promises, for a device

Then clusters of few devices that differ by more: in how many anyone is found in the first launch,
and in how many by the mean of three, as what fails a node is measured again.
"""

import argparse
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from milabench_ddp.dispatch.repeats import LAUNCHES_TO_FAIL
from milabench_ddp.report.validation.spread import Compared, compare, compare_devices
from milabench_ddp.table import Column, Table, text_lines
from tests.studies.planted_kinds import Draw

SIZES = (1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
DEVICES = 8
SHARES = (1.0, 1.0, 0.8, 0.5, 0.05)  # of the silicon, in the logarithm of each benchmark
ERROR, NODES = 0.003, 0.003
LOWER, THIRD = math.log(0.95), math.log(0.9)
Floats = np.ndarray


@dataclass(frozen=True)
class Kind:
    """How the silicon of healthy devices spreads."""

    draw: Callable[[Draw, int], Floats]  # logarithms, shape (n,)
    edge: float  # that of the slowest device; of a normal distribution, of one of a thousand


def normal(deviation: float) -> Kind:
    return Kind(lambda draw, n: deviation * draw.normal(size=n), -3.09 * deviation)


def uniform(width: float) -> Kind:
    return Kind(lambda draw, n: width * (draw.random(n) - 0.5), -width / 2)


def skewed(draw: Draw, n: int) -> Floats:
    """Most near the fastest."""
    return 0.05 * (draw.beta(5, 2, n) - 1)


def exponential(draw: Draw, n: int) -> Floats:
    """Ever fewer to the slower side, down to 5 %."""
    return 0.0125 * np.log1p(-draw.random(n) * (1 - math.exp(-4)))


def bins(share: float) -> Kind:
    """A share of the devices is slower by 3 %."""

    def draw_bins(draw: Draw, n: int) -> Floats:
        own = np.clip(0.004 * draw.normal(size=n), -0.01, 0.01)
        return own - 0.03 * (draw.random(n) < share)

    return Kind(draw_bins, -0.04)


KINDS = {
    "normal, 1 %": normal(0.01),
    "hardly any": normal(0.001),
    "uniform, 5 %": uniform(0.05),
    "skewed, 5 %": Kind(skewed, -0.05),
    "exponential, 5 %": Kind(exponential, -0.05),
    "two bins, 30 % slower": bins(0.3),
    "two bins, 50 % slower": bins(0.5),
}
WIDE = {"normal, 1.5 %": normal(0.015), "uniform, 8 %": uniform(0.08)}


class Cluster:
    """The logarithms of the rates of healthy devices, shape (benchmarks, devices)."""

    def __init__(self, kind: Kind, nodes: int, draw: Draw) -> None:
        count = nodes * DEVICES
        self.kind, self.draw = kind, draw
        self.nodes = np.repeat(np.arange(nodes), DEVICES)
        silicon = kind.draw(draw, count) + NODES * draw.normal(size=nodes)[self.nodes]
        self.logs = np.outer(SHARES, silicon) + ERROR * draw.normal(size=(len(SHARES), count))
        self.errors = ERROR * draw.uniform(0.7, 1.4, size=self.logs.shape)  # as they are estimated

    def compared(
        self, benchmark: int = 0, logs: Floats | None = None
    ) -> tuple[Compared, Compared | None]:
        values = self.logs[benchmark] if logs is None else logs
        return compare_devices(values, self.errors[benchmark], self.nodes.tolist(), len(SHARES))

    def alarms(self) -> bool:
        for benchmark in range(len(SHARES)):
            if any(found.are_below.any() for found in self.compared(benchmark) if found):
                return True
        return False

    def finds(self, level: float) -> bool:
        """Whether a device of this level is found."""
        logs, place = self.logs[0].copy(), int(self.draw.integers(len(self.nodes)))
        logs[place] = level + ERROR * self.draw.normal()
        return bool(self.compared(0, logs)[0].are_below[place])

    def keeps_promise(self) -> tuple[bool, float]:
        """Whether a device that is slower by the smallest defect is found, and this defect."""
        logs, place = self.logs[0].copy(), int(self.draw.integers(len(self.nodes)))
        smallest = float(self.compared()[0].smallest[place])
        logs[place] -= smallest
        return bool(self.compared(0, logs)[0].are_below[place]), -math.expm1(-smallest)

    def keeps_promise_of_nodes(self) -> bool | None:
        """The same of a node; None where nodes are fewer than three: either could be wrong."""
        count = int(self.nodes[-1]) + 1
        if count < 3:
            return None
        node, logs = int(self.draw.integers(count)), self.logs[0].copy()
        logs[self.nodes == node] -= self.compared()[1].smallest[node]
        return bool(self.compared(0, logs)[1].are_below[node])

    def of_a_third(self) -> tuple[float, bool] | None:
        """The share found of the devices of bad nodes, and whether any other one is."""
        count = (int(self.nodes[-1]) + 1) // 3
        if not count:
            return None
        is_bad = self.nodes < count
        devices, nodes = self.compared(0, self.logs[0] + THIRD * is_bad)
        found = devices.are_below | nodes.are_below[self.nodes]
        return float(found[is_bad].mean()), bool(found[~is_bad].any())


def studied(kind: Kind, sizes: Sequence[int], clusters: int, seed: int) -> dict[str, float]:
    """The columns of a row, as fractions.

    Args:
        sizes: of nodes, in turn.
        clusters: how many of them.
    """
    told: dict[str, list[float]] = {}
    for number in range(clusters):
        draw = np.random.default_rng([seed, number])
        cluster = Cluster(kind, sizes[number % len(sizes)], draw)
        kept, smallest = cluster.keeps_promise()
        third = cluster.of_a_third() or (None, None)
        row = {"alarms": cluster.alarms(), "5 % lower": cluster.finds(kind.edge + LOWER)}
        row |= {"promised": kept, "node": cluster.keeps_promise_of_nodes()}
        row |= {"third": third[0], "false": third[1], "smallest": smallest}
        for name, value in row.items():
            if value is not None:
                told.setdefault(name, []).append(float(value))
    return {
        name: float((np.median if name == "smallest" else np.mean)(values))
        for name, values in told.items()
    }


FEW = (4, 5, 8, 16, 64)  # devices, each the only one of its node
FEW_KINDS = ((0.01, ERROR), (0.015, ERROR), (0.02, ERROR), (ERROR, 0.02), (ERROR, 0.03))


def of_few(
    devices: int, silicon: float, launch: float, clusters: int, seed: int
) -> tuple[float, float]:
    """The fraction of clusters of which anyone is found, in one launch and by the mean of three.

    Args:
        silicon: the standard deviation of the devices, the same in each launch.
        launch: that of each launch of each device.
    """
    found = np.zeros((clusters, LAUNCHES_TO_FAIL), bool)
    for number in range(clusters):
        draw = np.random.default_rng([seed, number])
        for _ in SHARES:
            errors = ERROR * draw.uniform(0.7, 1.4, size=devices)
            level = silicon * draw.normal(size=devices)
            logs = level + launch * draw.normal(size=(LAUNCHES_TO_FAIL, devices))
            for last in range(LAUNCHES_TO_FAIL):  # each where the one before has found someone
                count = last + 1
                of_all = logs[:count].mean(0), errors / math.sqrt(count), devices * len(SHARES)
                if not compare(*of_all).are_below.any():
                    break
                found[number, last] = True
    return float(found[:, 0].mean()), float(found[:, -1].mean())


FORMATS = {
    "alarms": ".2%", "5 % lower": ".1%", "promised": ".1%", "node": ".1%", "third": ".1%",
    "false": ".1%", "smallest": ".1%",
}  # fmt: skip
COLUMNS = (Column("clusters"), *(Column(name, format) for name, format in FORMATS.items()))


def rows(clusters: int, seed: int) -> Iterator[tuple[object, ...]]:
    """A row for each kind, over all sizes; then for each size, over the kinds of 5 %."""
    for number, (name, kind) in enumerate([*KINDS.items(), *WIDE.items()]):
        yield _row(name, studied(kind, SIZES, clusters, seed + number))
    each = max(2 * clusters // (len(SIZES) * len(KINDS)), 1)
    for size in SIZES:
        found = [studied(kind, [size], each, seed + size) for kind in KINDS.values()]
        means = {name: float(np.mean([told[name] for told in found])) for name in found[0]}
        yield _row(f"of {size} node{'s' * (size > 1)}", means)


FEW_COLUMNS = tuple(Column(name) for name in ("silicon", "each launch", *map(str, FEW)))


def rows_of_few(clusters: int, seed: int) -> Iterator[tuple[object, ...]]:
    """A row for each spread, a column for each number of devices: ``20% -> 0.5%``."""
    for silicon, launch in FEW_KINDS:
        found = (of_few(devices, silicon, launch, clusters, seed + devices) for devices in FEW)
        cells = (f"{one:.1%} -> {two:.1%}" for one, two in found)
        yield f"{silicon:.1%}", f"{launch:.1%}", *cells


def _row(name: str, told: Mapping[str, float]) -> tuple[object, ...]:
    return name, *(told.get(column) for column in FORMATS)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--clusters", type=int, default=1000, help="of each kind")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    print("\n".join(text_lines(Table(COLUMNS, tuple(rows(args.clusters, args.seed))))))
    print("\n".join(text_lines(Table(FEW_COLUMNS, tuple(rows_of_few(args.clusters, args.seed))))))


if __name__ == "__main__":
    main()
