"""A run in trouble: 24 benchmarks on four GPUs of which one is slow in two, and 11 that failed."""

from pathlib import Path

from tests.support.rates import noisy
from tests.support.result_files import config, end, start, timed_rates, write, write_state

OUT_OF_MEMORY = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. "
    "GPU 0 has a total capacity of 44.6 GiB"
)
NO_MODULE = "ModuleNotFoundError: No module named 'torch_geometric'"
FAILED = {
    **{f"big-{k}": OUT_OF_MEMORY for k in range(8)},
    **dict.fromkeys(("dimenet", "pna", "recursiongfn"), NO_MODULE),
}


def troubled(folder: Path) -> None:
    states = {}
    for k in range(24):
        name = f"bench-{k:02}"
        states[name] = "ok"
        for device in range(4):
            level = 100.0 * (k + 1) * (0.9 if device == 2 and k in (3, 7) else 1.0)
            of = config(name, device=device, tag=[name, f"D{device}"])
            values = timed_rates(noisy(60, 0.2, 4 * k + device, level), units="items/s")
            write(folder, f"{name}.D{device}", of, start(), values, end(0, outcome="ok"))
    for name, reason in FAILED.items():
        states[name] = "failed"
        of = config(name, device=0, tag=[name, "D0"])
        told = f'Traceback (most recent call last):\n  File "main.py", line 3\n{reason}\n'
        ended = end(1, outcome="failed", reason=reason)
        write(folder, f"{name}.D0", of, start(), ended, stderr=told)
    write_state(folder, "failed", states, dict.fromkeys(FAILED, "exit status 1"))
