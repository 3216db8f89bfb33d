"""Checks the GPUs of a node with the torch of the benchmarks, before any of them begins.

The driver's library may show GPUs that torch cannot use: its driver is too old for this torch, the
torch has no CUDA, the fabric manager is down. There is one check for each interpreter and set of
variables that decide which libraries and GPUs are found. Benchmarks without torch need none.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ..config.schema import Benchmark
from ..config.shipped import shipped_root
from ..errors import MachineError, shown_names
from ..files import read_bytes
from ..grouping import grouped
from ..machine.backends import BACKENDS
from ..machine.devices import Device, Node
from ..machine.preflight import run_check
from ..plan.methods import DEVICE, PlanContext
from .run_context import RunPlan

CHECKED = ("cuda", "xpu")  # as torch names them: those for which it needs no other package
_DECISIVE = ("CUDA_", "HIP_", "LD_", "NVIDIA_", "PYTHON", "ROCR_", "ZE_", DEVICE)
_OF_TORCH = re.compile(
    r"^\s*(?:import|from)\s+"
    r"(?:accelerate|benchmarks|deepspeed|lightning|pytorch_lightning|torch\w*|transformers)\b",
    re.MULTILINE,
)
_COMPILE = "--compile"
_OF_LOADERS = re.compile(r"--(?:loader|trainer|num-workers)\b")
_SHOWN = 3  # how many benchmarks a sentence names
Check = Callable[[Sequence[str], Mapping[str, str]], Mapping[str, Any]]


def check_gpus(
    plan: RunPlan,
    benchmarks: Iterable[Benchmark],
    node: Node,
    environ: Mapping[str, str],
    check: Check = run_check,
) -> tuple[str, ...]:
    """Check the GPUs of this host for these benchmarks; returns warnings, a sentence each.

    Processes that use them already are among the warnings; they are not touched.

    Raises:
        MachineError: torch cannot use the GPUs.
    """
    backend = BACKENDS[plan.arch]
    if backend.torch_device not in CHECKED:
        return ()
    warnings = dict.fromkeys(backend.others(node.devices))  # each once
    benchmarks = list(benchmarks)
    for part in visible_together(node):
        for (python, env), using in grouped(_interpreters(plan, benchmarks, part)).items():
            command = check_command(
                plan.arch,
                part.devices,
                python,
                compiled=[benchmark.name for benchmark in using if _is_compiled(benchmark)],
                loaders=[
                    (b.name, str(b.program), b.argv)
                    for b in using
                    if _OF_LOADERS.search(" ".join(b.argv))
                ],
                processes=len(node.devices),
            )
            try:
                found = check(command, {**environ, **dict(env)})
            except MachineError as error:
                names = shown_names([benchmark.name for benchmark in using], _SHOWN)
                raise MachineError(
                    f"--device {plan.arch}: {python} cannot use the GPUs: {error}. "
                    f"It would run {names}. To measure the CPU: --device cpu"
                ) from error
            warnings |= dict.fromkeys(found["warnings"])
    return tuple(warnings)


def visible_together(node: Node) -> list[Node]:
    if any(device.id.startswith("MIG-") for device in node.devices):
        return [replace(node, devices=(device,)) for device in node.devices]
    return [node]


def check_command(arch: str, devices: Sequence[Device], python: str, **needs: object) -> list[str]:
    """The command of an interpreter that checks these devices, and what benchmarks need there."""
    gpus = BACKENDS[arch].accelerators(devices)["gpus"]
    uuids = [gpus.get(str(device.index), {}).get("uuid") or "" for device in devices]
    shown = [uuid if uuid.startswith("GPU-") else None for uuid in uuids]
    script = shipped_root() / "benchmarks" / "common" / "preflight.py"
    return [python, "-u", str(script), json.dumps({"uuids": shown, **needs})]


def _interpreters(
    plan: RunPlan, benchmarks: Iterable[Benchmark], node: Node
) -> Iterator[tuple[tuple[str, frozenset[tuple[str, str]]], Benchmark]]:
    for benchmark in benchmarks:
        context = PlanContext(benchmark, plan.site, plan.arch, (benchmark.name,), node, 0, 1)
        env = context.process((), (), node.devices).env
        if env[DEVICE] != "cpu" and uses_torch(benchmark.program):
            decisive = frozenset(item for item in env.items() if item[0].startswith(_DECISIVE))
            yield (plan.site.interpreter(benchmark), decisive), benchmark


def uses_torch(program: Path) -> bool:
    """Whether a program imports torch, or something that is made of it, by its source."""
    try:
        return (
            program.suffix == ".py" and _OF_TORCH.search(read_bytes(program).decode()) is not None
        )
    except (OSError, UnicodeDecodeError):
        return False


def _is_compiled(benchmark: Benchmark) -> bool:
    words = " ".join(benchmark.argv).replace("=", " ").split()
    return _COMPILE in words and words[words.index(_COMPILE) + 1 :][:1] == ["inductor"]
