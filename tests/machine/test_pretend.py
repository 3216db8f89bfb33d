from milabench_ddp.machine.pretend import pretend


def test_a_cluster_of_gpus() -> None:
    cluster = pretend("cuda", nodes=4, gpus=8)
    assert [node.name for node in cluster.nodes] == ["node0", "node1", "node2", "node3"]
    assert {node.cpu_count for node in cluster.nodes} == {64}
    for node in cluster.nodes:
        assert [(device.index, device.id) for device in node.devices] == [
            (i, str(i)) for i in range(8)
        ]
        assert all(device.cpus == () for device in node.devices)


def test_gpus_are_not_bound_to_cores() -> None:
    (node,) = pretend("cuda", nodes=1, gpus=2, cpus=16).nodes
    assert node.cpu_count == 16
    assert [device.cpus for device in node.devices] == [(), ()]


def test_cpu_slots_share_the_cores_that_are_named() -> None:
    (node,) = pretend("cpu", nodes=1, gpus=2, cpus=4).nodes
    assert [device.cpus for device in node.devices] == [(0, 1), (2, 3)]


def test_cpu_slots_of_an_unknown_machine_are_not_bound() -> None:
    cluster = pretend("cpu", nodes=2, gpus=2)
    assert not cluster.has_gpu
    assert all(device.cpus == () for node in cluster.nodes for device in node.devices)
