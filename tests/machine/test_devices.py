import pytest

from milabench_ddp.machine.devices import Cluster


@pytest.mark.parametrize("arch", ["cuda", "rocm", "hpu", "xpu"])
def test_all_but_cpu_slots_are_gpus(arch: str) -> None:
    assert Cluster(arch, ()).has_gpu
    assert not Cluster("cpu", ()).has_gpu
