"""The runs of the corpus: recorded ones, and planted ones with something for every face."""

import shutil
from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path

import numpy as np

from tests.support import (
    compared_runs,
    described_runs,
    exported_runs,
    host_runs,
    made_up_history,
    pipelined_ranks,
    planted_scaling,
    reported_runs,
    result_files,
    sweep_of_models,
)
from tests.support.rates import noisy, throttled
from tests.support.result_files import end, job, line, rates, sampled, start, steps, told

HOSTILE = "\x1b[31m<b>&amp; | `x` \u202e ,=1+1\t${x} </script> %s {0} é"
FEW = 30  # steps

Plant = Callable[[Path], object]


def recorded(name: str) -> Plant:
    return lambda folder: shutil.copytree(result_files.RECORDED / name, folder)


def slow_rank(folder: Path) -> None:
    """Four ranks, of which rank 2 takes longer for its backward pass, also in what others wait."""
    lines = []
    for rank in range(4):
        own = np.array(noisy(120, 0.3, rank, 60.0 if rank != 2 else 75.0))
        spent = {"data": [1.0] * 120, "forward": (own / 3).tolist()}
        spent |= {"backward": (2 * own / 3).tolist(), "optimizer": [4.0] * 120}
        spent["exposed_communication"] = (85.0 - own - 5.0).tolist()
        lines += [steps(rank, [85.0] * 120, [1.0] * 120, parts=spent)]
        lines += [told(rank, node="node1", memory_peak=[20000.0 + rank, 24000.0])]
        lines += [told(rank, startup={"python": 1.0, "imports": 4.0 + rank, "model": 2.0})]
    values = result_files.timed_rates([4e3 / 85] * 120, units="images/s", steps=1)
    facts = {"mode": "ddp", "ranks": 4, "replicas": 4, "batch_size": 8, "precision": "bf16"}
    of = job("gpt-ddp", 4, argv={"--precision": "bf16"})
    ended = end(0, 1130.0, outcome="ok")
    result_files.write(folder, "gpt-ddp.0", of, start(), told(model=facts), values, *lines, ended)
    result_files.write_state(folder, "ok", {"gpt-ddp": "ok"})


def devices(folder: Path) -> None:
    """Four GPUs with all sensors: one slow and throttled, one with errors, one lost on the way."""
    meta = deepcopy(described_runs.META)
    gpu = meta["accelerators"]["gpus"]["0"]
    meta["accelerators"]["gpus"] = {str(k): {**gpu, "uuid": f"GPU-{k}"} for k in range(4)}
    for device in range(4):
        is_hot = device == 2
        level = 90.0 if is_hot else 100.0
        values = throttled(60, device) if device == 1 else noisy(60, 0.2, device, level)
        lines = [line("meta", meta), start()]
        for second in range(60):
            power = 550.0 if is_hot else 650.0
            seen = {
                "memory": [30000.0 + device, 81559.0],
                "memory_load": 0.5,
                "temperature": 68 if is_hot else 60,
                "power": power,
                "power_limit": 700.0,
                "energy": power * second,
                "sm_clock": 1500 if is_hot else 1900,
                "memory_clock": 2619,
                "clock_reasons": ["sw_thermal_slowdown"] if is_hot else [],
                "pcie": [100.0, 50.0],
                "nvlink": [2000.0, 2100.0],
            }
            lines.append(sampled(1000.5 + second, **{f"d{device}": seen}))
            host = {**host_runs.CALM, "time": 1000.5 + second}
            lines.append(line("data", {"task": "main", "hostdata": host}, "data"))
        if device == 3:
            lost = {"kind": "lost_device", "sentence": "GPU 3 has fallen off the bus", "device": 3}
            lines.append(line("device_problem", {**lost, "time": 1055.0}))
        rated = result_files.timed_rates(values, units="TFLOP/s")
        words, argv = ["flops", f"D{device}"], {"--dtype": "bf16"}
        settings = result_files.config(
            "flops", device=device, devices=[device], tag=words, argv=argv
        )
        ended = end(0, outcome="ok")
        result_files.write(folder, f"flops.D{device}", settings, *lines, rated, ended)
    result_files.write_state(
        folder, "ok", {"flops": "ok"}, machine=deepcopy(described_runs.MACHINE)
    )


def hostile(folder: Path) -> None:
    """Texts that mean something to a terminal, a browser, Markdown, a spreadsheet."""
    error = {"type": HOSTILE, "message": HOSTILE, "rank": 1, "trace": HOSTILE}
    of = result_files.config("bad", group=HOSTILE, device=0, tag=["bad", "D0"])
    failed = end(1, outcome="failed", reason=HOSTILE)
    values = rates(noisy(60, 0.0, 3), units=HOSTILE, task="train")
    result_files.write(
        folder, "bad.D0", of, start(), values, line("error", error, "data"), failed,
        stderr=HOSTILE * 3,
    )  # fmt: skip
    good = result_files.config("good", device=0, tag=["good", "D0"], matrix={"a|b": HOSTILE})
    result_files.write(folder, "good.D0", good, start(), values, end(0, outcome="ok"))
    result_files.write_state(
        folder, "failed", {"bad": "failed", "good": "ok"}, {"bad": HOSTILE}, preset=HOSTILE
    )


def cancelled(folder: Path) -> None:
    """A run that was stopped: one benchmark was measured, one was stopped, one never began."""
    values = rates(noisy(60, 0.0, 5))
    for name, ended in (("a", end(0, outcome="ok")), ("b", end(-2, outcome="cancelled"))):
        of = result_files.config(name, device=0, tag=[name, "D0"])
        result_files.write(folder, f"{name}.D0", of, start(), values, ended)
    states = {"a": "ok", "b": "cancelled", "c": "cancelled"}
    result_files.write_state(folder, "cancelled", states, {"b": "stopped by SIGINT"})


def damaged(folder: Path) -> None:
    """Lines that are no JSON, cut, of another type, told twice; a file that is missing."""
    of = result_files.config("b", device=0, tag=["b", "D0"])
    bad = ['{"event": "data", "da', "no json\n", line("data", [1, 2]), line("other", {}), "\x00\n"]
    values = rates(noisy(60, 0.0, 7)) + rates([None, "fast", -1.0, float("nan"), True])
    result_files.write(folder, "b.D0", of, of, start(), values, *bad)
    result_files.write_state(folder, "failed", {"b": "failed", "gone": "ok"})


def compared(folder: Path, factor: float) -> None:
    means = {
        "a": [100.0, 101.0, 99.5],
        "b": [50.0, 50.2, 49.9],
        "c": [10.0, 10.5, 9.8],
        "d": [7.0, 7.1, 7.0],
    }
    changed = {name: [factor * mean for mean in of] if name in "ad" else of
               for name, of in means.items()}  # fmt: skip
    compared_runs.launched(folder, changed, failed={} if factor == 1 else {"e": "exit status 1"})


def scaled(folder: Path, count: int) -> None:
    planted = planted_scaling.Planted()
    for launch in range(3):
        made = planted.launched(count, np.random.default_rng(10 * count + launch), FEW)
        planted_scaling.written(folder, f"gpt-{count}", made, f"R{launch}", sweep="gpt")
    result_files.write_state(folder, "ok", {f"gpt-{count}": "ok"})


def history(folder: Path) -> None:
    """Eight runs of four GPUs, one of which is slower from the fourth on."""
    draw = np.random.default_rng(4)
    for number in range(1, 9):
        levels = 100 * (1 + 0.002 * draw.standard_normal(4))
        levels[1] *= 0.92 if number >= 4 else 1.0
        speeds = {f"GPU-{k}": float(level) for k, level in enumerate(levels)}
        made_up_history.write_run(folder, number, {"flops": speeds, "membw": {"GPU-0": 30.0}})


RUNS: Mapping[str, Plant] = {
    "first": recorded("first"),
    "schema-1": recorded("schema-1"),
    "milabench": recorded("milabench/rijubigo"),
    "rich": reported_runs.write_rich,
    "sweep": sweep_of_models.make,
    "tidy": exported_runs.make,
    "hosts": lambda folder: host_runs.run_of(folder, cpu=0.99, swap=[900.0, 800.0]),
    "slow-rank": slow_rank,
    "devices": devices,
    "pipeline": lambda folder: pipelined_ranks.pipelined(slow={1: 1.2}, count=60).write(folder),
    "hostile": hostile,
    "cancelled": cancelled,
    "damaged": damaged,
    "before": lambda folder: compared(folder, 1.0),
    "after": lambda folder: compared(folder, 0.93),
}
SCALED = {f"nodes-{count}": count for count in (1, 2, 4)}


def make_all(folder: Path) -> None:
    """Write all runs below a folder."""
    for name, plant in RUNS.items():
        plant(folder / name)
    for name, count in SCALED.items():
        scaled(folder / "scaled" / name, count)
    history(folder / "history")
