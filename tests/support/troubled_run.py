"""A run in trouble: 24 benchmarks on four GPUs of which one is slow in two, and 11 that failed."""

from copy import deepcopy
from pathlib import Path

from tests.support import described_runs
from tests.support.rates import noisy
from tests.support.result_files import config, end, line, start, timed_rates, write, write_state

OUT_OF_MEMORY = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. "
    "GPU 0 has a total capacity of 44.6 GiB"
)
NO_MODULE = "ModuleNotFoundError: No module named 'torch_geometric'"
BEGAN = 1.74e9  # seconds since the epoch
FAILED = {
    **{f"big-{k}": OUT_OF_MEMORY for k in range(8)},
    **dict.fromkeys(("dimenet", "pna", "recursiongfn"), NO_MODULE),
}


def troubled(folder: Path) -> None:
    states = {}
    meta = deepcopy(described_runs.META)
    gpu = meta["accelerators"]["gpus"]["0"]
    meta["accelerators"]["gpus"] = {str(k): {**gpu, "uuid": f"GPU-{k}"} for k in range(4)}
    for k in range(24):
        name = f"bench-{k:02}"
        states[name] = "ok"
        for device in range(4):
            level = 100.0 * (k + 1) * (0.9 if device == 2 and k in (3, 7) else 1.0)
            of = config(name, device=device, tag=[name, f"D{device}"])
            values = timed_rates(noisy(60, 0.2, 4 * k + device, level), units="items/s")
            begun = line("meta", meta) + start(BEGAN)
            write(folder, f"{name}.D{device}", of, begun, values, end(0, outcome="ok"))
    for name, reason in FAILED.items():
        states[name] = "failed"
        of = config(name, device=0, tag=[name, "D0"])
        told = f'Traceback (most recent call last):\n  File "main.py", line 3\n{reason}\n'
        ended = end(1, outcome="failed", reason=reason)
        write(folder, f"{name}.D0", of, line("meta", meta), start(BEGAN), ended, stderr=told)
    machine = deepcopy(described_runs.MACHINE)
    write_state(
        folder, "failed", states, FAILED, machine=machine, created=BEGAN, ended=BEGAN + 7740
    )
