"""Losses that rise or stand still, and those that are only noisy."""

import math
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.findings.losses import FEWEST
from tests.support.result_files import config, end, loss, rates, start, write


def said(folder: Path, *series: Iterable[float]) -> list[str]:
    """What is found in these series, each of a benchmark of its own."""
    for number, values in enumerate(series):
        lines = "".join(map(loss, map(float, values)))
        tag = f"b{number:03}.D0"
        settings = config(tag[:-3], device=0, tag=[tag[:-3], "D0"])
        write(folder, tag, settings, start(), rates([1.0] * 9), lines, end())
    found = report_of([folder]).findings
    return [each.sentence for each in found if each.name == "loss_not_falling"]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("level", [0.5, 8.0])
def test_a_loss_that_rises_is_told_from_where_to_where(
    tmp_path: Path, seed: int, level: float
) -> None:
    noise = np.random.default_rng(seed).normal(0, 0.05 * level, 90)
    rising = level * np.linspace(1, 2, 90)
    falling = level * np.linspace(2, 1, 90)
    (sentence,) = said(tmp_path, falling + noise, rising + noise)
    assert sentence.startswith("b001.D0: its loss rises, from ")


def test_the_same_loss_again_and_again_is_told(tmp_path: Path) -> None:
    assert said(tmp_path, [8.0285] * FEWEST, [0.0] * FEWEST, [8.0285] * (FEWEST - 1)) == [
        "b000.D0: its loss is 8.0285 in each of 30 lines: nothing is learned"
    ]


def test_noise_is_not(tmp_path: Path) -> None:
    """Flat and falling losses with heavy tails, slow waves, few values, or ends near 0."""
    generator = np.random.default_rng(7)
    series: list[np.ndarray] = []
    for _ in range(25):
        count = int(generator.integers(5, 200))
        steps = generator.standard_t(3, count)
        slow = np.zeros(count)
        for k in range(1, count):
            slow[k] = 0.9 * slow[k - 1] + 0.02 * steps[k]
        series += [
            6.9 + slow,
            6.9 + 0.3 * steps,
            7 * np.exp(-np.arange(count) / 3) + 0.001 * np.arange(count),
            2.3 * 0.99 ** np.arange(count) + 0.1 * np.abs(steps),
        ]
    assert said(tmp_path, *series) == []


def test_losses_that_are_no_numbers_do_not_count(tmp_path: Path) -> None:
    lines = loss("high") + loss(math.inf) + "".join(loss(5.0 + 0.1 * k) for k in range(FEWEST))
    write(tmp_path, "b.D0", config("b", device=0), start(), rates([1.0] * 9), lines, end())
    (found,) = (each for each in report_of([tmp_path]).findings if each.name == "loss_not_falling")
    assert found.evidence == {"losses": FEWEST, "first": 5.0, "last": pytest.approx(7.9)}
    assert (found.layer, found.place) == ("loss", "b.D0")
