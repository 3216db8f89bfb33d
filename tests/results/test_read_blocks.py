"""Lines that are read many at once give what the same lines give one by one."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from milabench_ddp.results import read as reader
from milabench_ddp.results.defects import DefectKind
from milabench_ddp.results.read import read_events
from tests.support.result_files import config, end, line, rate, start, write
from tests.support.told_records import told

T0 = 1_700_000_000.0
Draw = random.Random


def ours(draw: Draw, k: int) -> str:
    return rate(
        draw.gauss(100, 9),
        rank=0,
        time=T0 + k / 8,
        elapsed=k / 8,
        step=k,
        steps=2,
        loss=2.5 / (k + 1),
    )


def of_milabench(draw: Draw, k: int) -> str:
    told = [{"progress": [k, 900]}, {"loss": 1 / (k + 1)}, {"rate": draw.random(), "units": "x/s"}]
    return "".join(line("data", {"task": "train", **each}, "data") for each in told)


def of_ranks(draw: Draw, k: int) -> str:
    rank, jitter = k % 3, draw.uniform(0, 0.5)
    told = {"rank": rank, "time": T0 + k // 3 + jitter, "step": k // 3, "arrived": T0 + k / 3}
    extra = {"memory_state": {"free": k, "used": 0.5 * k}} if k % 3 == 0 else {}
    return rate(draw.choice([1, 2.5, 1e-7]), warmup=k < 30, flag=True, **told, **extra)


def with_others(draw: Draw, k: int) -> str:
    others = [
        rate(draw.choice([0, -1, None, "fast", 1e300, float("nan")])),
        line("data", {"task": "train", "loss": draw.choice([float("nan"), None, 1e200, "x"])}),
        line("data", {"task": "main", "rank": 1, "norm": 10**400, "model": {"layers": 3}}),
        line("data", {"gpudata": {"0": {"load": 0.5}}, "time": T0 + k}),
        line("data", {"task": "other", "rate": 3.0}),
        line("data", {"rate": 3.0, "norm": "inf"}),
        line("data", {"task": "train", "rate": 3.0, "steps": 0.5, "rank": -1}),
        line("line", "said", "stdout"),
        "{\n",
        '["rate"]\n',
    ]
    return draw.choice(others) if k % draw.choice([3, 40]) == 0 else ours(draw, k)


def written_twice(draw: Draw, k: int) -> str:
    return ours(Draw(k % 300), k % 300)


def whole_and_not(draw: Draw, k: int) -> str:
    told = {"batch": 8, "size": draw.choice([1, 2]), "big": 2**60 + k}
    return rate(draw.choice([5, 5.5]), **told, lr=draw.choice([1e-05, 0.5]), text="é")


def numbered_keys(_: Draw, k: int) -> str:
    return line("data", {f"loss_of_{k}": 0.5})


def numbered_tasks(_: Draw, k: int) -> str:
    return line("data", {"task": f"t{k}", "rate": 3.0, "units": "x/s"})


def numbered_units(_: Draw, k: int) -> str:
    return line("data", {"task": "train", "rate": 3.0, "units": f"x{k // 70}/s"})


def numbered_groups(_: Draw, k: int) -> str:
    return line("data", {f"layer{k}": {"norm": 0.5}, "task": "train", "rate": 3.0})


def deeply_nested(_: Draw, k: int) -> str:
    return line("data", {"task": "train", "rate": 3.0 + k, "x": 0}).replace(
        '"x": 0', f'"x": {"[" * 201}{"]" * 201}'
    )


def too_large(_: Draw, k: int) -> str:
    return line("data", {"task": "train", "rate": 3.0 + k, "loss": 5 * 10**400})


def true_rate(_: Draw, k: int) -> str:
    return line("data", {"rate": True, "k": k})


def true_loss(_: Draw, k: int) -> str:
    return line("data", {"task": "train", "rate": 3.0, "loss": True, "k": k})


def true_steps(_: Draw, k: int) -> str:
    return line("data", {"task": "train", "rate": 3.0, "steps": True, "k": k})


def rank_as_text(_: Draw, k: int) -> str:
    return line("data", {"task": "train", "rate": 3.0, "rank": "none", "k": k})


KINDS = [
    true_rate,
    true_loss,
    true_steps,
    rank_as_text,
    too_large,
    deeply_nested,
    ours,
    of_milabench,
    of_ranks,
    with_others,
    written_twice,
    whole_and_not,
    numbered_keys,
    numbered_tasks,
    numbered_units,
    numbered_groups,
]


@pytest.mark.parametrize("env", [{}, {"RANK": "5"}], ids=["torchrun", "rank"])
@pytest.mark.parametrize("kind", KINDS)
def test_many_lines_at_once(
    tmp_path: Path, kind: Callable[[Draw, int], str], env: dict[str, str]
) -> None:
    draw = Draw(7)
    lines = "".join(kind(draw, k) for k in range(900))
    begun = line("start", {"time": T0, "env": env})
    path = write(tmp_path, "b", config("b"), begun, lines, end())
    assert told(path, block=20_000) == told(path, one_by_one=True)


def test_they_are_read_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not one of a thousand usual lines is decoded by itself."""
    draw, alone = Draw(7), []
    for kind in (ours, of_milabench):
        lines = "".join(kind(draw, k) for k in range(300))
        path = write(tmp_path, "b", config("b"), start(), lines, end())
        monkeypatch.setattr(reader, "loads", alone.append)
        record = read_events(path)
        assert len(record.rates) == 300
    assert alone == []


def test_the_first_of_the_lines_that_are_written_twice(tmp_path: Path) -> None:
    lines = [ours(Draw(3), k) for k in range(50)]
    path = write(tmp_path, "b", config("b"), start(), *lines, *lines[:20], end())
    (defect,) = read_events(path).defects
    assert (defect.kind, defect.line, defect.count) == (DefectKind.REPEATED_RATE, 53, 20)


def test_a_key_that_stands_twice_has_its_last_value(tmp_path: Path) -> None:
    twice = json.dumps({"task": "train", "rate": 1.0})[:-1] + ', "rate": 2.5}'
    lines = f'{{"event": "data", "data": {twice}, "pipe": "data"}}\n' * 40
    record = read_events(write(tmp_path, "b", config("b"), start(), lines, end()))
    assert set(record.rates.rate) == {2.5}
