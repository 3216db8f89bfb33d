"""The tables of a made-up run, as a user reads them."""

import json
from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.formats import report_json
from milabench_ddp.report.model import Report, Row
from milabench_ddp.report.tables import TABLES
from milabench_ddp.report.text import report_text
from milabench_ddp.table import Table, csv_text
from tests.golden import check_golden
from tests.support.result_files import (
    config,
    end,
    job,
    parts,
    rates,
    sampled,
    start,
    steps,
    timed_rates,
    told,
    write,
)  # fmt: skip

OK = end(0, outcome="ok", reason="")


def comm(bytes: int, bus: float, op: str = "all_reduce") -> str:
    row = {"op": op, "backend": "nccl", "dtype": "fp32", "ranks": 16, "bytes": bytes}
    return told(comm={**row, "time_us": 2e-3 * bytes / bus, "algorithm_gb_s": bus / 2,
                      "bus_gb_s": bus, "right": True})  # fmt: skip


def flops(run: Path, device: int, peak: float) -> None:
    tried = [
        told(sweep={"m": side, "n": side, "k": side, "dtype": "bf16", "tflop_s": share * peak})
        for side, share in ((4096, 0.9), (8192, 1.01), (16384, 0.95))
    ]
    settings = config("flops-peak-bf16", device=device, tag=["flops-peak-bf16", f"D{device}"],
                      argv={"--dtype": "bf16", "--sweep": True})  # fmt: skip
    values = timed_rates([peak + 0.1 * (k % 3) for k in range(20)], units="TFLOP/s")
    timed = steps(0, [7000.0 / peak] * 20)
    capped = {"memory": [9000.0, 81559.0], "temperature": 61, "sm_clock": 1755 - 15 * device,
              "clock_reasons": ["sw_power_cap"], "power_limit": 700, "power": 698.5}  # fmt: skip
    seen = [sampled(1000.5 + k, **{f"d{device}": {**capped, "energy": 1e6 + 698 * k}})
            for k in range(20)]  # fmt: skip
    name = f"flops-peak-bf16.D{device}"
    write(run, name, settings, start(), *tried, *seen, values, timed, OK)


def resnet(run: Path, device: int, slower: float) -> None:
    """A process alone on its device, which waits for no other process."""
    facts = {"mode": "single", "ranks": 1, "replicas": 1, "batch_size": 256, "precision": "amp"}
    done = told(model=facts)
    of = parts(0, forward=30.0 * slower, backward=60.0 * slower, optimizer=5.0, data=5.0)
    whole = 90.0 * slower + 10.0
    settings = config("resnet50", device=device, tag=["resnet50", f"D{device}"])
    values = rates([1e5 / whole + 0.1 * (k % 3) for k in range(20)], units="images/s")
    timed = steps(0, [whole + 0.01 * (k % 3) for k in range(20)], [5.0] * 20)
    write(run, f"resnet50.D{device}", settings, start(), values, done, of, timed, OK)


def bert(run: Path) -> None:
    """16 ranks on 2 nodes under autocast; rank 11 is slow, and all others wait for it."""
    facts = {"mode": "ddp", "ranks": 16, "replicas": 16, "batch_size": 32}
    facts |= {"global_batch_size": 512, "precision": "amp", "reduced_dtype": "bf16"}
    facts |= {"optimizer_implementation": "adamw, fused"}
    payloads = [told(model=facts | {"step_ms": 125.0, "tflops_per_gpu": 280.0})]
    for rank in range(16):
        forward = 44.0 if rank == 11 else 40.0 + 0.01 * (rank % 5)
        payloads += [
            parts(rank, forward=forward, backward=120.0 - forward, optimizer=4.0, data=1.0),
            steps(rank, [125.0 + 0.01 * (k % 7) + 0.001 * rank for k in range(40)], [1.0] * 40),
            told(rank, memory_peak=[30000.0 + rank, 32000.0]),
        ]
    values = rates([8000.0 + k % 7 for k in range(40)], units="tokens/s", steps=1)
    first = job("bert-ddp", 8, 2, tag=["bert-ddp", "0", "node1"], argv={"--precision": "amp"})
    second = job("bert-ddp", 8, 2, tag=["bert-ddp", "0", "node2", "nolog"])
    write(run, "bert-ddp.0.node1", first, start(), values, *payloads, OK)
    write(run, "bert-ddp.0.node2.nolog", second, start(), OK)


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    monkeypatch.chdir(tmp_path)
    run = Path("runs/monday")
    for device, peak in enumerate((700.0, 705.0, 650.0, 702.0)):
        flops(run, device, peak)
    for device, slower in enumerate((1.0, 1.002, 1.09, 1.001)):
        resnet(run, device, slower)
    bert(run)
    fit = told(comm_fit={"op": "all_reduce", "alpha_us": 21.5, "beta_gb_s": 190.0,
                         "residual": 0.06})  # fmt: skip
    sizes = [comm(2**power, bus) for power, bus in ((10, 0.05), (20, 40.0), (30, 355.0))]
    timed = [steps(rank, [4.6 + 0.1 * rank] * 5) for rank in range(2)]
    values = rates([355.0] * 5, units="GB/s")
    write(run, "comm.0", job("comm"), start(), *sizes, fit, values, *timed, OK)
    return report_of([run])


def test_golden(made: Report) -> None:
    check_golden("report/tables.txt", report_text(made))


@pytest.mark.parametrize("name", TABLES)
def test_golden_csv(made: Report, name: str) -> None:
    check_golden(f"report/tables_{name}.csv", csv_text(TABLES[name](made.rows)))


def test_every_rank_is_in_the_json(made: Report) -> None:
    rows = {row["name"]: row for row in json.loads(report_json(made))["benchmarks"]}
    ranks = rows["bert-ddp"]["ranks"]
    assert [of["rank"] for of in ranks] == list(range(16))
    assert (ranks[11]["node"], ranks[11]["own_ms"]) == ("node 1", 49.0)
    assert ranks[11]["part_ms"]["forward"] == [44.0, 0.44]
    assert rows["bert-ddp"]["mfu"] == pytest.approx(280.0 / rows["flops-peak-bf16"]["perf"])
    assert rows["bert-ddp"]["peak"]["benchmark"] == "flops-peak-bf16"
    assert [of["bytes"] for of in rows["comm"]["tables"]["comm"]] == [2**10, 2**20, 2**30]
    assert len(rows["flops-peak-bf16"]["tables"]["sweep"]) == 12


def test_nothing_is_made_of_nothing() -> None:
    rows = [Row("a", 0, 1, 1, 1.0, 0.1, 0.1, 1.0, 1.0, 1.0)]
    made: list[Table] = [make(rows) for make in TABLES.values()]
    assert not any(made)
