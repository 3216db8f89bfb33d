"""Variables of the environment that are known to slow training down, or to change what is measured.

To add one, add a line to ``HAZARDS``. Cited as ``owner/repository #number``.
"""

from collections.abc import Callable, Iterator, Mapping

from msgspec import Struct

PLANT = "MILABENCH_PLANT"  # faults that are planted on purpose: see benchmarks/common/plant.py
OFF = ("", "0", "f", "false", "n", "no", "off")


def is_on(value: str) -> bool:
    """Whether a value switches something on, as torch, NCCL and CUDA read it."""
    return value.strip().lower() not in OFF


def is_set(_: str) -> bool:
    return True


def one_of(*values: str) -> Callable[[str], bool]:
    return lambda value: value.strip().upper() in values


class Hazard(Struct, frozen=True):
    """A variable that does harm with some values."""

    is_harmful: Callable[[str], bool]
    effect: str
    gpu_alone: bool = True  # whether it does nothing on a CPU
    nodes_alone: bool = False  # whether it does nothing on a single node


HAZARDS: Mapping[str, Hazard] = {
    "CUDA_LAUNCH_BLOCKING": Hazard(is_on, "the host waits for each kernel"),
    "HIP_LAUNCH_BLOCKING": Hazard(is_on, "the host waits for each kernel"),
    # pytorch/pytorch #143890, NVIDIA/TransformerEngine #1353
    "CUDA_DEVICE_MAX_CONNECTIONS": Hazard(
        one_of("1"), "kernels wait for NCCL's where events are timed, so less of it is hidden"
    ),
    "CUDA_INJECTION64_PATH": Hazard(is_on, "a profiler or another tool is loaded into programs"),
    "NCCL_DEBUG": Hazard(
        one_of("INFO", "TRACE"), "NCCL writes a log, with NCCL_DEBUG_SUBSYS=COLL of each collective"
    ),
    "NCCL_P2P_DISABLE": Hazard(is_on, "GPUs exchange data through the host's memory"),
    "NCCL_P2P_LEVEL": Hazard(one_of("LOC", "0"), "GPUs exchange data through the host's memory"),
    "NCCL_SHM_DISABLE": Hazard(is_on, "GPUs of a node may exchange data over its network"),
    "NCCL_IB_DISABLE": Hazard(
        is_on, "nodes exchange data over IP, not over InfiniBand or RoCE", nodes_alone=True
    ),
    # NVIDIA/nccl #2355: 4 to 13 % for messages of 128 KB to 4 MB
    "NCCL_PROFILER_PLUGIN": Hazard(is_on, "a profiler in NCCL makes collectives slower"),
    "TORCH_NCCL_BLOCKING_WAIT": Hazard(is_on, "the host waits for each collective"),
    "NCCL_BLOCKING_WAIT": Hazard(is_on, "the host waits for each collective"),
    # whatever its value: torch asks only whether it is there
    "PYTORCH_NO_CUDA_MEMORY_CACHING": Hazard(is_set, "each tensor is allocated by the driver"),
    "NVIDIA_TF32_OVERRIDE": Hazard(one_of("0"), "no program uses TF32, whatever it asks for"),
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": Hazard(
        is_on, "products in fp32 use TF32, whatever the program asks for"
    ),
    "TORCH_DISTRIBUTED_DEBUG": Hazard(
        one_of("DETAIL"), "each collective is checked by another one", gpu_alone=False
    ),
    "TORCHDYNAMO_DISABLE": Hazard(one_of("1"), "torch.compile compiles nothing", gpu_alone=False),
    "TORCH_COMPILE_DISABLE": Hazard(one_of("1"), "torch.compile compiles nothing", gpu_alone=False),
}


def hazards_in(
    environ: Mapping[str, str], *, on_gpu: bool, nodes: int = 1
) -> Iterator[tuple[str, str]]:
    """Each known hazard of an environment: ``NAME=value``, and its effect as a clause."""
    for name, hazard in HAZARDS.items():
        value = environ.get(name)
        matters = (on_gpu or not hazard.gpu_alone) and (nodes > 1 or not hazard.nodes_alone)
        if value is not None and matters and hazard.is_harmful(value):
            yield f"{name}={value}", hazard.effect
