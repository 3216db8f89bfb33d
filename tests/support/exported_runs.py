"""A run with something in every tidy table, whose truth is planted."""

from pathlib import Path

from tests.support.result_files import (
    config,
    end,
    job,
    line,
    rate,
    rates,
    sampled,
    start,
    steps,
    told,
    write,
    write_state,
)

WARMUP, SLOW, STEADY = 3, 20, 60  # rates of the warm-up, of a start-up that is found, of the rest


def make(folder: Path) -> Path:
    """``gpt``, a job of two ranks, of which rank 1 is slower, and ``flops``, which fails."""
    write_state(folder, "failed", {"gpt": "ok", "flops": "failed"}, suite={})
    values = rates([1.0] * WARMUP, warmup=True)
    for k in range(SLOW + STEADY):
        speed = 50.0 + 2.5 * k if k < SLOW else 100.0 + 0.1 * (k % 3)
        values += rate(speed, time=1000.0 + k, step=k, steps=1)
    parts = ""
    for rank, own in enumerate((20.0, 30.0)):
        count = SLOW + STEADY
        spent = {"forward": [own] * count, "exposed_communication": [40.0 - own] * count}
        parts += steps(rank, [41.0] * count, wait_ms=[1.0] * count, parts=spent)
    seen = sampled(1050.0, d0={"power": 300.0, "memory": [10.0, 100.0], "pcie": [5.0, 6.0]})
    seen += sampled(5000.0, d1={"power": 70.0, "clock_reasons": ["gpu_idle", "sw_power_cap"]})
    host = {"time": 1050.0, "cpu": 0.5, "memory": [1.0, 2.0], "disk": [3.0, 4.0]}
    seen += line("data", {"task": "main", "hostdata": host}, "data")
    problem = {"sentence": "GPU 1 has fallen off the bus", "device": 1, "time": 1070.0}
    write(
        folder, "gpt.0", job("gpt", matrix={"size": 7}), start(990.0), values, parts, seen,
        told(model={"mode": "ddp"}), line("device_problem", problem), end(0, 1090.0, outcome="ok"),
    )  # fmt: skip
    error = line("error", {"type": "ValueError", "message": 'no, "sir"', "rank": 3})
    failed = end(1, 1100.0, outcome="failed", reason="exit status 1")
    write(folder, "flops.D0", config("flops", device=0), start(1095.0), error, failed)
    return folder
