import pytest

from tests.support.configuration import facts


@pytest.mark.parametrize(
    ("arch", "library"), [("cuda", "nccl"), ("rocm", "rccl"), ("hpu", "hccl"), ("cpu", "gloo")]
)
def test_each_architecture_has_its_communication_library(arch: str, library: str) -> None:
    assert facts(arch=arch).ccl == library


@pytest.mark.parametrize(("cpus", "gpus", "share"), [(16, 2, 8), (15, 2, 7), (1, 8, 1), (4, 0, 4)])
def test_the_cpus_of_a_device(cpus: int, gpus: int, share: int) -> None:
    assert facts(cpu_count=cpus, gpu_count=gpus).cpu_per_gpu == share
