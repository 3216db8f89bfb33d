"""How long each step takes on an H200: from the suite's own step counts, FLOP and bytes.

A benchmark takes ``START``, its warm-up, and its steps or seconds, whichever are more:

    START + max(warmup * step, seconds / 10) + max(steps * step, seconds)

A step is the FLOP of the program's own formula over a published rate, for images their number over
a published rate, for memory its bytes over the rate of the data sheet.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from milabench_ddp.commands import setup
from milabench_ddp.config.conditions import MachineFacts
from milabench_ddp.config.load import load
from milabench_ddp.config.system import System
from milabench_ddp.options.parser import parse_options

from .parts import PARTS, Step

FOLDER = Path("/tmp/check")
H200 = MachineFacts("cuda", 1, 1, 16, "NVIDIA H200", 143771, FOLDER, gpu_capability=9.0)
PRODUCTS = {"fp32": 50e12, "tf32": 420e12, "fp16": 785e12, "bf16": 785e12, "fp8": 1400e12}
TRAINING = 0.41 * 989e12  # FLOP/s: llm-foundry's GPT of 1.3B on H100
IMAGE = 24.5e9 * 4292  # FLOP/s: ResNet-50, of 24.5e9 for an image, at milabench's 4,292 images/s
MEMORY, LINK = 4.8e12, 55e9  # bytes/s: its data sheet; 16 lanes of PCIe 5 from pinned memory
# As measured on an H100: a process with torch, CUDA's context and a model, from 5 s of ``membw`` to
# 39 s of a transformer under torchrun, in the mean; inductor on 24 blocks.
START, COMPILE = 13.0, 42.0
SCRIPTS = {"what others measure": 22.0, "what only a GPU shows": 31.0, "what timing costs": 80.0}


def told() -> Iterator[str]:
    """The lines of a table: each step with its benchmarks and seconds, and the sum so far."""
    total = 0.0
    yield f"{'step':24}{'benchmarks':>12}{'seconds':>9}{'sum':>7}"
    for part in PARTS.values():
        for step in part("cuda", FOLDER):
            taken = benchmarks(step) if step.run else {}
            least = START if step.run else SCRIPTS[step.title]  # a run first checks the device
            total += least + sum(taken.values())
            count = len(taken) or ""
            yield f"{step.title:24}{count:>12}{least + sum(taken.values()):9.0f}{total:7.0f}"


def benchmarks(step: Step) -> Mapping[str, float]:
    """The seconds of each benchmark of a run that one GPU can run."""
    options: Any = parse_options("run", step.argv[step.argv.index("run") + 1 :])
    suite = load(setup.request(options, System()), H200)
    return {one.name: seconds(one.program.parent.name, one.argv) for one in suite.benchmarks}


def seconds(program: str, argv: Sequence[str]) -> float:
    """Those of a program with these options."""
    main = import_module(f"benchmarks.{program}.main")
    args = main.options().parse_args(argv)
    step = step_seconds(program, main, args)
    steps = args.steps if "steps" in args else args.repeat
    measured = args.seconds or 0.0
    compiles = getattr(args, "compile", "none") == "inductor" and "tiny" not in argv
    warmup = max(getattr(args, "warmup", 0) * step, measured / 10)
    return float(START + compiles * COMPILE + warmup + max(steps * step, measured))


def step_seconds(program: str, main: Any, args: argparse.Namespace) -> float:
    """The seconds of a step; 0 for another program."""
    if program == "flops":
        amount = 1e12 * main.tflop(args.m, args.n, args.k or args.n, args.number)
        rate = PRODUCTS[args.dtype] / (len(main.SWEEP) if args.sweep else 1)
    elif program in ("membw", "transfer"):
        amount = args.number * (args.bytes or 256 * 2**20)
        rate = LINK if program == "transfer" else MEMORY / main.OPERATIONS[args.op].vectors
    elif program == "gpt":
        amount, rate = main.checked_shape(args, 1).flop(args.batch_size), TRAINING
    elif program == "transformers":
        size = main.make_size(args)
        amount, rate = size.flop(args.batch_size or size.batch_size), TRAINING
    elif program in ("torchvision", "torchvision_ddp"):
        amount, rate = main.vision.make_task(args).flops, IMAGE
    else:
        amount, rate = 0.0, 1.0  # its seconds are many steps
    return float(amount / rate)
