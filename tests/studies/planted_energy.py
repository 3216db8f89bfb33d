"""Checks the energy of made-up courses of power, whose integral is known, by simulated sensors.

    python -m tests.studies.planted_energy [--runs 1000] [--seed 0]

The sensors are those of the tests' stub of NVML, behind the real pynvml: an energy counter that
moves every 100 ms, and a power that is the mean over a second, or over 25 ms of each 100 ms (an
A100's). The monitor reads them about once a second, and some readings are missing. The power swings
between two levels with a period of 10 ms to 3 s, and drifts. Columns:

known    the share of windows whose mean power is known
held     the share of the known intervals of 95 % that hold the truth
width    the half width of an interval, as a median, relative to the truth
error    the true error, as a median, relative to the truth

The last rows are of windows of at most 10 s.
"""

import argparse
import os
import random
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import pytest

from milabench_ddp.machine.backends import nvml_sensors
from milabench_ddp.machine.backends.backend import Reading
from milabench_ddp.machine.backends.nvidia import NvidiaBackend
from milabench_ddp.machine.devices import Device
from milabench_ddp.report.energy import AVERAGED
from milabench_ddp.report.statistics.mean_power import MeanPower, by_counter, by_power
from milabench_ddp.samples import DeviceSample
from tests.support import nvml_stub

BEGIN = 5.0  # s, of a window at the earliest: a course begins at 0
SENSORS = ("counter", "power of 1000 ms", "power of 25 ms")
SHORT = 10.0  # seconds


@dataclass(frozen=True)
class Course:
    """A course of power: ``high`` W in a part of each period, else ``low``, and a drift of both."""

    low: float
    high: float
    period: float  # ms
    duty: int  # per cent of it at ``high``
    drift: float  # W/s

    def joules(self, seconds: float) -> float:
        """What is drawn until then."""
        ms = seconds * 1e3
        whole, rest = divmod(ms, self.period)
        on = self.period * self.duty / 100
        at_high = (whole * on + min(rest, on)) / 1e3
        return self.low * seconds + (self.high - self.low) * at_high + self.drift * seconds**2 / 2

    @property
    def statement(self) -> str:
        """It in the words of the stub."""
        return f"0 watts {self.low}:{self.high}:{self.period}:{self.duty}:{self.drift}"


@dataclass
class Found:
    """What came out of the windows by one sensor."""

    windows: int = 0
    held: list[bool] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)

    def add(self, truth: float, found: MeanPower | None) -> None:
        """Count a window with this mean power."""
        self.windows += 1
        if found is not None:
            self.held.append(abs(found.watts - truth) <= found.error)
            self.widths.append(found.error / truth)
            self.errors.append(abs(found.watts / truth - 1))

    def line(self) -> str:
        """Its figures."""
        known, held = len(self.held) / self.windows, statistics.fmean(self.held)
        figures = [known, held, statistics.median(self.widths), statistics.median(self.errors)]
        return "  ".join(f"{figure:8.1%}" for figure in figures)


def drawn(draw: random.Random) -> Course:
    """A course of power as of a GPU that computes."""
    low = draw.uniform(80, 400)
    period = round(10 ** draw.uniform(1, 3.5), 3)
    return Course(
        round(low, 1),
        round(low + draw.uniform(0, 600), 1),
        period,
        draw.randrange(10, 95),
        round(draw.uniform(-1, 1), 2),
    )


def readings(
    course: Course, seconds: float, averaged: int, draw: random.Random, read: Callable[[], Reading]
) -> Iterator[DeviceSample]:
    """What the monitor reads from before a window of so many seconds to after it."""
    begin = BEGIN + draw.random()
    for second in range(-2, int(seconds) + 4):
        now = round(begin + second + max(draw.gauss(0, 0.005), 0), 3)
        statements = course.statement, f"0 averaged {averaged}", f"system time {round(now * 1e3)}"
        os.environ["NVML_STUB"] = "; ".join(statements)
        with patch.object(nvml_sensors.time, "time", lambda now=now: now):
            (sample,) = read().samples.values()
        if draw.random() > 0.02:
            yield sample


def measure(runs: int, seed: int, read: Callable[[], Reading]) -> dict[str, Found]:
    """Simulate windows, and find their mean power by each sensor."""
    draw = random.Random(seed)
    names = [f"{length}{sensor}" for length in ("", "short: ") for sensor in SENSORS]
    found = {name: Found() for name in names}
    for run in range(runs):
        course, seconds = drawn(draw), draw.uniform(5, 40)
        begin = BEGIN + draw.random()
        end = begin + seconds
        averaged = (1000, 25)[run % 2]
        seen = list(readings(course, seconds, averaged, draw, read))
        truth = (course.joules(end) - course.joules(begin)) / seconds
        means = {
            "counter": by_counter([(each.time, each.energy) for each in seen], begin, end),
            f"power of {averaged} ms": by_power(
                [(each.time, each.power) for each in seen], begin + AVERAGED, end
            ),
        }
        for sensor, mean in means.items():
            found[sensor].add(truth, mean)
            if seconds <= SHORT:
                found[f"short: {sensor}"].add(truth, mean)
    return found


@contextmanager
def stub_of_nvml() -> Iterator[Callable[[], Reading]]:
    """Reads a GPU of the stub, with the real pynvml."""
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        nvml_stub.load(nvml_stub.build(Path(folder)), patched)
        with NvidiaBackend().source([Device(0, "0")]) as read:
            yield read


def main(argv: Sequence[str] | None = None) -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)
    with stub_of_nvml() as read:
        found = measure(args.runs, args.seed, read)
    print(f"{'':25}   known      held     width     error")
    for name, of in found.items():
        print(f"{name:25}{of.line()}")


if __name__ == "__main__":
    main()
