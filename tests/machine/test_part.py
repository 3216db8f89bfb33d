import pytest

from milabench_ddp.errors import MachineError
from milabench_ddp.machine.detect import detect
from milabench_ddp.machine.part import part


@pytest.mark.parametrize(("gpus", "nodes"), [(1, 2), (2, 2), (1, 5)])
def test_the_parts_are_the_whole(gpus: int, nodes: int) -> None:
    whole = detect("cpu", gpus * nodes, {}).cluster.nodes[0]
    parts = [part("cpu", gpus, rank, nodes, {}) for rank in range(nodes)]
    assert [each.name for each in parts] == [f"node{rank}" for rank in range(nodes)]
    assert [device for each in parts for device in each.devices] == list(whole.devices)
    assert {len(each.devices) for each in parts} == {gpus}
    assert {each.cpu_count for each in parts} == {max(1, whole.cpu_count // nodes)}


def test_more_than_there_are() -> None:
    with pytest.raises(MachineError):
        part("cuda", 2, 0, 2, {"CUDA_VISIBLE_DEVICES": ""})
