"""Runs of which much failed: fifteen programs in fifteen ways, and a large one of milabench's."""

from collections.abc import Sequence
from pathlib import Path

from milabench_ddp.events import NO_RATE
from tests.support.rates import noisy
from tests.support.result_files import (
    config,
    end,
    job,
    line,
    rates,
    sample,
    start,
    timed_rates,
    told,
    write,
    write_state,
)

OUT_OF_MEMORY = (
    "CUDA out of memory. Tried to allocate 2.25 GiB. GPU 0 has a total capacity of {size} GiB of "
    "which 1.06 GiB is free. Including non-PyTorch memory, this process has 43.04 GiB in use."
)
DRIVER = (
    "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU "
    "and installed a driver from http://www.nvidia.com/Download/index.aspx"
)
REFUSED = (
    "torch.distributed.DistNetworkError: The client socket has failed to connect to any network "
    "address of (node7, 29500). The client socket has failed to connect to 10.0.0.7:29500 "
    "(errno: 111 - Connection refused)."
)
HANG = "it hangs in `time.sleep(60)` (prog.py:15 in train)"


def traceback(raised: str) -> str:
    frames = '  File "/bench/prog.py", line 27, in <module>\n    train()\n'
    return f"Traceback (most recent call last):\n{frames}{raised}\n"


# name: the exit status, or the reason that is recorded; and what the program printed on stderr.
# They are what such programs of a few lines left behind.
RAISED = {
    "check": "AssertionError: the loss is 3",
    "cuda": DRIVER,
    "file": "FileNotFoundError: [Errno 2] No such file or directory: '/data/imagenet/index.json'",
    "memory": f"torch.OutOfMemoryError: {OUT_OF_MEMORY.format(size='79.11')}",
    "module": "ModuleNotFoundError: No module named 'torch_geometric'",
    "rendezvous": REFUSED,
}
ENDED: dict[str, tuple[int, str, str]] = {
    **{name: (1, f"exit status 1: {said}", traceback(said)) for name, said in RAISED.items()},
    "absent": (127, "exit status 127", "/bench/absent.sh: line 2: nsys: command not found\n"),
    "crash": (-11, "killed by SIGSEGV", ""),
    "denied": (
        126,
        "exit status 126",
        "taskset: failed to execute /b/x.sh: Permission denied\n",
    ),
    "killed": (-9, "killed by SIGKILL", ""),
    "nan": (0, "the loss became NaN", ""),
    "option": (
        2,
        "exit status 2",
        "usage: prog.py [-h] [--batch-size BATCH_SIZE] way\n"
        "prog.py: error: unrecognized arguments: --batchsize 32\n",
    ),
    "silent": (0, NO_RATE, ""),
    "slow": (-15, f"ended at its max_duration of 3 s: {HANG}", ""),
    "status": (3, "exit status 3", ""),
}


def fifteen_ways(folder: Path) -> None:
    """Sixteen programs, of which one ended ok, and each other in a way of its own."""
    good = config("good", device=0, tag=["good", "D0"])
    values = timed_rates(noisy(70, 0.0, 1))
    write(folder, "good.D0", good, start(), values, end(0, 1080.0, outcome="ok"))
    states, reasons = {"good": "ok"}, {}
    for name, (code, reason, stderr) in sorted(ENDED.items()):
        outcome = "timeout" if name == "slow" else "failed"
        states[name], reasons[name] = outcome, reason
        of = config(name, device=0, tag=[name, "D0"], argv={"--batch-size": 32})
        ended = end(code, outcome=outcome, reason=reason)
        write(folder, f"{name}.D0", of, start(), ended, stderr=stderr)
    write_state(folder, "failed", states, reasons)


def hang(folder: Path) -> None:
    """Two ranks, of which one hangs, and the other waits for it."""
    stack = "rank 1 hangs in `batch = next(loader)` (train.py:41 in step)"
    reason = f"ended at its max_duration of 600 s: {stack}; rank 0 waits in all_reduce"
    ended = end(-15, 1610.0, outcome="timeout", reason=reason)
    rated = timed_rates([100.0] * 9, rank=0)
    write(folder, "mine.0", job("mine", 2), start(), told(model={"ranks": 2}), rated, ended)
    frames = '  state S, in futex_wait\n  File "/bench/train.py", line 41 in step\n'
    (folder / "mine.0.stacks").write_text(f"{stack} (pid 71)\n{frames}")
    write_state(folder, "failed", {"mine": "timeout"}, {"mine": reason}, ended=1612.0)


GPUS = 4
FAILED = {
    f"torch.OutOfMemoryError: {OUT_OF_MEMORY.format(size='44.56')}": (
        *("diffusion-gpus", "diffusion-single", "dinov2-giant-gpus", "dinov2-giant-single"),
        *("llava-single", "llm-full-mp-gpus", "llm-lora-mp-gpus", "vjepa-single"),
    ),
    "ModuleNotFoundError: No module named 'torch_geometric'": ("dimenet", "pna", "recursiongfn"),
    "": ("vjepa-gpus",),
}
SINGLE = (
    *("bert-fp16", "bert-fp32", "bert-tf32", "bert-tf32-fp16", "bf16", "convnext_large-fp16"),
    *("convnext_large-fp32", "convnext_large-tf32", "convnext_large-tf32-fp16", "focalnet"),
    *("fp16", "fp32", "lightning", "llama", "llm-lora-single", "reformer", "regnet_y_128gf"),
    *("resnet50", "resnet50-noio", "rlhf-single", "super-slomo", "t5", "tf32", "torchatari"),
    *("whisper", "cleanrljax"),
)
JOBS = ("brax", "lightning-gpus", "llm-lora-ddp-gpus", "resnet152-ddp-gpus", "rlhf-gpus")
GPU = {"product": "NVIDIA A40", "memory": {"total": 45634.0}}
META = {
    "cpu": {"count": 64, "brand": "AMD EPYC 7543"},
    "os": {"nodename": "node7"},
    "accelerators": {
        "arch": "cuda",
        "gpus": {
            str(k): {"product": "NVIDIA A40", "memory": {"total": 45634.0}} for k in range(GPUS)
        },
    },
    "milabench": {"tag": "v0.1.0"},
    "pytorch": {"torch": "2.6.0+cu124"},
}
USAGE = {"validation": {"usage": {"gpu_load_threshold": 0.5, "gpu_mem_threshold": 0.5}}}


def milabenchs(folder: Path) -> None:
    """43 benchmarks on four GPUs as milabench writes them: 12 failed, most GPUs were idle."""
    meta = line("meta", META)
    for number, name in enumerate(SINGLE):
        for device in range(GPUS):
            of = config(name, device=device, devices=[device], tag=[name, f"D{device}"], **USAGE)
            values = rates(noisy(70, 0.0, 10 * number + device, 100.0 + number))
            load = 0.3 if number % 2 else 0.9
            used = [sample(**{f"d{device}": (9000.0, load)}) for _ in range(6)]
            write(folder, f"{name}.D{device}", of, meta, start(), values, *used, end(0))
    for number, name in enumerate(JOBS):
        values = rates(noisy(70, 0.0, 1000 + number))
        write(folder, f"{name}.0", job(name, GPUS), meta, start(), values, end(0))
    for raised, names in FAILED.items():
        for name in names:
            broken(folder, name, raised, meta)


def broken(folder: Path, name: str, raised: str, meta: str) -> None:
    """The files of a benchmark that failed: milabench keeps the output in them."""
    is_single = not name.endswith("gpus")
    for device in range(GPUS) if is_single else (0,):
        tag = [name, f"D{device}" if is_single else "0"]
        of = config(name, tag=tag, argv={"--batch-size": 16}, device=device, **USAGE)
        if not is_single:
            of = job(name, GPUS, argv={"--batch-size": 16}, **USAGE)
        phase = line("phase", {"name": "init"}, "data")
        write(folder, ".".join(tag), of, meta, start(), phase, *printed(raised), end(1))


def printed(raised: str) -> Sequence[str]:
    """Lines of stderr: an exception, then what a logger says when Python ends; or a word."""
    if not raised:
        return [line("line", "see the log of the worker\n", "stderr")]
    said = [*traceback(raised).splitlines(), *(f"wandb: syncing file {k}" for k in range(30))]
    return [line("line", f"{each}\n", "stderr") for each in said]
