"""A made-up sweep over models, nodes, backends and breaks, with every kind of outcome."""

from pathlib import Path
from typing import Any

from milabench_ddp.config.schema import SkippedBenchmark
from tests.support.result_files import (
    config,
    end,
    job,
    line,
    rates,
    start,
    steps,
    told,
    write,
    write_state,
)

NODES = (1, 2, 4)
TRACE = """Traceback (most recent call last):
  File "/programs/main.py", line 5, in <module>
    main()
{last}
"""
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.91 GiB. GPU 0 is full."
# combinations that did not end ok: status, reason, last line of output
ENDS: dict[str, tuple[str, str, str]] = {
    "hf_T5-inductor-with-1": (
        "failed",
        "rank 1: RuntimeError: a graph broke",
        "RuntimeError: a graph broke",
    ),
    "hf_T5-eager-without-4": ("failed", "rank 3: torch.OutOfMemoryError: CUDA out ...", OOM),
    "hf_T5-inductor-without-4": ("timeout", "it took longer than 1800 s", ""),
    "hf_T5-eager-with-4": ("lost", "node 3 does not answer", ""),
    "hf_T5-inductor-with-4": ("cancelled", "stopped by SIGINT", ""),
    "resnet50-eager-without-1": ("failed", "exit status 137", ""),
    "resnet50-inductor-without-4": ("running", "", ""),
    "resnet50-eager-with-4": ("waiting", "", ""),
    "resnet50-inductor-with-4": ("skipped", "it needs 32 GPUs, and there are 16", ""),
}


def points() -> list[dict[str, Any]]:
    return [
        {"model": model, "backend": backend, "breaks": breaks, "nodes": nodes}
        for model in ("hf_T5", "resnet50")
        for nodes in NODES
        for backend in ("eager", "inductor")
        for breaks in ("with", "without")
    ]


def name_of(point: dict[str, Any]) -> str:
    return "{model}-{backend}-{breaks}-{nodes}".format(**point)


def make(run: Path) -> Path:
    """A run of which one combination still runs and one waits."""
    named = {name_of(point): point for point in points()}
    states = {name: ENDS.get(name, ("ok",))[0] for name in named}
    reasons = {name: reason for name, (_, reason, _) in ENDS.items()}
    suite = {name: {"matrix": point, "weight": 1.0} for name, point in named.items()}
    skipped = [SkippedBenchmark("hf_T5-fp8", "it needs the arch cuda")]
    write_state(run, None, states, reasons, suite=suite, skipped=skipped)
    peak = rates([500.0] * 9, units="TFLOP/s")
    write(
        run,
        "flops.D0",
        config("flops", device=0, argv=["--dtype=bf16"]),
        start(),
        peak,
        end(0, outcome="ok"),
    )
    for name, point in named.items():
        if name not in ENDS:
            _ended_ok(run, name, point)
        elif ENDS[name][0] not in ("waiting", "skipped"):
            _did_not(run, name, point)
    return run


def _config(name: str, point: dict[str, Any]) -> str:
    return job(name, 8, point["nodes"], matrix=point, argv={"--precision": "amp"})


def _speed(point: dict[str, Any]) -> float:
    """Items per second of a node."""
    speed = 100.0 if point["model"] == "hf_T5" else 900.0
    speed *= 1.4 if point["backend"] == "inductor" else 1.0
    speed *= 0.95 if point["breaks"] == "with" else 1.0
    return speed * {1: 1.0, 2: 0.93, 4: 0.85}[point["nodes"]]


def _ended_ok(run: Path, name: str, point: dict[str, Any]) -> None:
    speed = _speed(point)
    values = [speed * point["nodes"] * (1 + 0.01 * ((7 * k) % 11 - 5)) for k in range(40)]
    times = [1e5 / speed * (1 + 0.01 * ((7 * k) % 11 - 5)) for k in range(40)]
    ranks = [steps(rank, times) for rank in range(2)]
    memory = told(1, memory_peak=[20000.0 + 100 * point["nodes"], 23000.0])
    tflops = speed if point["model"] == "hf_T5" else speed / 12
    facts = told(model={"mode": "ddp", "tflops_per_gpu": tflops})
    parts = (start(), rates(values, units="items/s", steps=1), facts, *ranks, memory)
    ended = end(0, outcome="ok", reason="")
    write(run, f"{name}.0", _config(name, point), *parts, ended)


def _did_not(run: Path, name: str, point: dict[str, Any]) -> None:
    outcome, reason, last = ENDS[name]
    trace = TRACE.format(last=last) if last else ""
    said = {"type": "E", "message": "m", "rank": 1, "trace": trace}
    error = line("error", said, "data") if last else ""
    ended = "" if outcome == "running" else end(1, outcome=outcome, reason=reason)
    write(run, f"{name}.0", _config(name, point), start(), rates([5.0]), error, ended)
