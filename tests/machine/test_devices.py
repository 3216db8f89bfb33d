import pytest

from milabench_ddp.codec import decode, encode
from milabench_ddp.machine.devices import Cluster, Device, Node

DEVICES = (Device(0, "0", "EPYC", cpus=(0, 1)), Device(1, "GPU-1", "H200", 143771.0))


@pytest.mark.parametrize("arch", ["cuda", "rocm", "hpu", "xpu"])
def test_all_but_cpu_slots_are_gpus(arch: str) -> None:
    assert Cluster(arch, ()).has_gpu
    assert not Cluster("cpu", ()).has_gpu


def test_a_cluster_travels_as_json() -> None:
    cluster = Cluster("cuda", (Node("node0", DEVICES, 16), Node("node1", (), 8)))
    assert decode(encode(cluster), Cluster) == cluster
