"""The facts of a node that are compared with those of the others."""

from collections.abc import Callable

from milabench_ddp.machine.devices import Device, Node
from milabench_ddp.machine.preflight import node_facts
from milabench_ddp.machine.provenance import collect
from tests.fakes.nvml import FakeNvml, gpus

NODE = Node("n1", tuple(Device(i, str(i), "NVIDIA H200", 143771.0) for i in range(2)), 8)


def test_what_a_node_with_gpus_has(install: Callable[..., FakeNvml]) -> None:
    install(gpus(2))
    environ = {
        "NCCL_DEBUG": "WARN",
        "SLURM_NODEID": "3",
        "MILABENCH_NODE": "n1",
        "CUDA_VISIBLE_DEVICES": "0,1",
        "HOME": "/root",
    }
    found = node_facts(collect("cuda", NODE, [], environ), 8)
    assert found["the driver"] == "610.43"
    assert found["the number of GPUs"] == "8"  # of which two are used
    assert found["the GPU"] == "NVIDIA H200"
    assert found["the memory of its GPUs"] == "143771 MiB"
    assert found["python"].startswith("CPython 3.")
    assert {"torch", "numpy", "milabench", "the kernel", "the CPU"} <= set(found)
    assert [name for name in found if name.startswith("$")] == ["$NCCL_DEBUG"]


def test_gpus_that_differ_on_one_node(install: Callable[..., FakeNvml]) -> None:
    install([*gpus(1), *gpus(1, "NVIDIA T400")])
    devices = (Device(0, "0", "NVIDIA H200"), Device(1, "1", "NVIDIA T400"))
    found = node_facts(collect("cuda", Node("n1", devices, 8), [], {}), 2)
    assert found["the GPU"] == "1 x NVIDIA H200 and 1 x NVIDIA T400"


def test_cpu_slots_have_no_gpu() -> None:
    slot = Node("n1", (Device(0, "0", "slot"),), 2)
    found = node_facts(collect("cpu", slot, [], {}), 0)
    assert not {"the driver", "the GPU", "the number of GPUs"} & set(found)
