"""Cores of ranks that lie far from their GPU, and cores that too many threads share."""

from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.finding import Finding
from tests.support.result_files import config, end, job, line, rates, start, told, write

NEAR = ("0-15,32-47", "16-31,48-63")  # of two sockets with hyper-threads


def meta(near: list[str | None], node: str = "") -> str:
    gpus = {}
    for index, cpus in enumerate(near):
        gpus[str(index)] = {"product": "H100", "uuid": f"GPU-{index}", "cpus": cpus}
    return line("meta", {"node": node, "accelerators": {"arch": "cuda", "gpus": gpus}})


def rank_of(rank: int, cpus: Any, threads: Any = 4, **more: Any) -> str:
    device = {"kind": "cuda", "uuid": f"GPU-{rank}", "threads": threads, "cpus": cpus, **more}
    return told(rank, device={key: value for key, value in device.items() if value is not None})


def found(folder: Path, *ranks: str, near: list[str | None] | None = None) -> list[Finding]:
    known = [NEAR[rank >= len(ranks) / 2] for rank in range(len(ranks))] if near is None else near
    values = rates([1.0] * 9, rank=0)
    write(folder, "b.0", job("b", len(ranks)), meta(known), start(), *ranks, values, end())
    names = ("far_cores", "oversubscribed")
    return [each for each in report_of([folder]).findings if each.name in names]


def test_ranks_next_to_their_gpu_are_not_told(tmp_path: Path) -> None:
    bound = [rank_of(rank, NEAR[rank >= 2]) for rank in range(4)]
    assert found(tmp_path / "bound", *bound) == []
    part = [rank_of(rank, ("0-3", "60-63")[rank >= 2], threads=2) for rank in range(4)]
    assert found(tmp_path / "part", *part) == []
    assert found(tmp_path / "free", *[rank_of(k, "0-63") for k in range(4)]) == []
    assert found(tmp_path / "silent", *[rank_of(k, None) for k in range(4)]) == []
    far = [rank_of(rank, NEAR[rank < 2]) for rank in range(4)]
    assert found(tmp_path / "unknown", *far, near=[None] * 4) == []
    assert found(tmp_path / "damaged", *[rank_of(k, "0-9999999,x") for k in range(4)]) == []


@pytest.mark.parametrize("odd", [0, 3])
def test_a_rank_on_the_other_socket_is_told(tmp_path: Path, odd: int) -> None:
    bound = [rank_of(rank, NEAR[(rank >= 2) != (rank == odd)]) for rank in range(4)]
    (far,) = found(tmp_path, *bound)
    own, near = NEAR[odd < 2], NEAR[odd >= 2]
    assert far.sentence == f"b: rank {odd} runs on the cores {own}, and its GPU is next to {near}"
    assert (far.name, far.severity, far.place) == ("far_cores", "warning", f"rank {odd}")


def test_several_are_one_sentence(tmp_path: Path) -> None:
    (far,) = found(tmp_path, *[rank_of(rank, NEAR[rank < 2]) for rank in range(4)])
    assert far.sentence.endswith("is next to 0-15,32-47 (4 of 4 ranks are like that)")


@pytest.mark.parametrize(
    ("threads", "cpus", "said"),
    [
        (16, "0-63", ""),
        (17, "0-63", "b: its 4 ranks compute with 68 threads on 64 cores"),
        (1, "0-1", "b: its 4 ranks compute with 4 threads on 2 cores"),
        (None, "0-1", ""),
        ("many", "0-1", ""),
    ],
)
def test_more_threads_than_cores_are_told(
    tmp_path: Path, threads: Any, cpus: str, said: str
) -> None:
    told = found(tmp_path, *[rank_of(rank, cpus, threads) for rank in range(4)], near=[None] * 4)
    assert [each.sentence for each in told] == ([said] if said else [])


def test_processes_of_a_launch_share_their_cores_and_repeats_do_not(tmp_path: Path) -> None:
    for repeat in ("R0", "R1"):
        for device in range(2):
            settings = config("b", device=device, tag=["b", repeat, f"D{device}"])
            rank = rank_of(0, "0-3", 2 if repeat == "R0" else 3)
            name = f"b.{repeat}.D{device}"
            write(tmp_path, name, settings, meta([]), start(), rank, rates([1.0] * 9), end())
    (crowded,) = (each for each in report_of([tmp_path]).findings if each.name == "oversubscribed")
    assert crowded.evidence == {"ranks": 2, "threads": 6, "cores": 4}
