"""A made-up run that has something for every table of the report, and a rich one for its text."""

from pathlib import Path

from milabench_ddp.config.schema import SkipKind, SkippedBenchmark
from tests.support.result_files import (
    TORCHRUN,
    config,
    end,
    job,
    line,
    parts,
    rates,
    sampled,
    start,
    steps,
    timed_rates,
    told,
    write,
    write_state,
)

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
        ms = [125.0 + 0.01 * (k % 7) + 0.001 * rank for k in range(40)]
        of = {"forward": forward, "backward": 120.0 - forward, "optimizer": 4.0}
        own = {part: [each] * 40 for part, each in of.items()}
        payloads += [
            steps(rank, ms, [1.0] * 40, parts=own),
            told(rank, memory_peak=[30000.0 + rank, 32000.0]),
        ]
    values = rates([8000.0 + k % 7 for k in range(40)], units="tokens/s", steps=1)
    first = job("bert-ddp", 8, 2, tag=["bert-ddp", "0", "node1"], argv={"--precision": "amp"})
    second = job("bert-ddp", 8, 2, tag=["bert-ddp", "0", "node2", "nolog"])
    write(run, "bert-ddp.0.node1", first, start(), values, *payloads, OK)
    write(run, "bert-ddp.0.node2.nolog", second, start(), OK)


def write_tables(run: Path) -> None:
    """Devices one of which is slow, a job on two nodes with a slow rank, communication."""
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


MODELS = ("resnet18", "resnet152")
SWEEP = {"eager": (812.0, 455.5), "inductor": (1105.0, 611.25)}  # images/s by back-end and model
LONG = "vit-large-patch16-224-with-a-name-that-is-longer-than-others"


def write_rich(run: Path) -> None:
    """The same, with failures, a sweep, and benchmarks that were not run; the order is not by name.

    A name and a reason are longer than most terminals are wide.
    """
    write_tables(run)
    for backend, speeds in SWEEP.items():
        for model, speed in zip(MODELS, speeds, strict=True):
            name = f"{model}-{backend}"
            point = {"model": model, "backend": backend}
            values = rates([speed + 0.1 * (k % 5) for k in range(70)], units="images/s")
            of = config(name, device=0, tag=[name, "D0"], matrix=point, sweep="models")
            write(run, f"{name}.D0", of, start(), values, OK)
    said = {"type": "ValueError", "message": "rank one is bad", "rank": 1, "trace": ""}
    failed = end(1, 1100.0, outcome="failed", reason="rank 1: ValueError: rank one is bad")
    broken = (start(), line("error", said, "data"), failed)
    write(run, "resnet50-ddp.0", job("resnet50-ddp"), *broken, stderr="\n".join(TORCHRUN))
    reason = (
        "it took longer than 90 s; rank 3 waits in all_reduce of 25,165,824 bytes since second 61, "
        "rank 5 did not come (/scratch/benchmarks/shared/programs/vit/main.py:118)"
    )
    write(run, f"{LONG}.0", job(LONG), start(), end(-15, 1190.0, outcome="timeout", reason=reason))
    ok = ("flops-peak-bf16", "resnet50", "comm", "bert-ddp")
    states = dict.fromkeys(ok, "ok")
    states |= {f"{model}-{backend}": "ok" for model in MODELS for backend in SWEEP}
    states |= {"resnet50-ddp": "failed", LONG: "timeout", "t5": "waiting"}
    skipped = [
        SkippedBenchmark(f"s{k}", f"disabled by the preset full (x.yaml:{k})", SkipKind.DISABLED)
        for k in range(9)
    ]
    why = "disabled by the preset full: it is for a CPU (x.yaml:77)"
    skipped.append(SkippedBenchmark("tiny", why, SkipKind.DISABLED))
    needs = (
        "disabled: it needs `milabench install`, or the extra `lightning`; then --select lightning"
    )
    skipped.append(SkippedBenchmark("lightning", f"{needs} (x.yaml:274)", SkipKind.DISABLED))
    skipped.append(SkippedBenchmark("llama-70b", "it needs 64 GPUs, and there are 16"))
    write_state(run, "failed", states, skipped=skipped)
