"""Reading the settings of a node: a healthy one, each setting spoilt, and what cannot be read."""

import os
import struct
from pathlib import Path

import pytest

from milabench_ddp.config.audited import audited, text_of_values
from milabench_ddp.machine.setting_reader import read_settings
from milabench_ddp.node_settings import SettingSource, SettingValue
from tests.support.settings_tree import CARD, SPOILT, PlantedNode
from tests.support.wait import PATIENCE


@pytest.fixture
def node(tmp_path: Path) -> PlantedNode:
    return PlantedNode(tmp_path)


def test_a_healthy_node_tells_every_setting(node: PlantedNode) -> None:
    found = node.settings()
    assert set(found) == set(audited()) - {"cpus_offline"}  # an empty list: there is none
    assert found["governor"] == (SettingValue("performance", 8),)
    assert found["nic_rate"] == (SettingValue("400", 8),)
    assert found["numa_nodes"] == (SettingValue("0-1"),)
    assert found["mtu"] == (SettingValue("9000"),)  # that of `lo` does not count
    assert found["kernel_options"] == (SettingValue("iommu=pt amd_iommu=on"),)
    assert found["gpudirect"] == (SettingValue("nvidia_peermem"),)


@pytest.mark.parametrize("name", audited())
def test_each_setting_spoilt_alone(node: PlantedNode, name: str) -> None:
    healthy = node.settings()
    spoil, value = SPOILT[name]
    spoil(node)
    spoilt = node.settings()
    assert value in {each.value for each in spoilt[name]}
    assert spoilt[name] != healthy.get(name)
    changed = {each for each in spoilt if spoilt[each] != healthy.get(each)}
    variables = {"ib_disable", "p2p_disable", "shm_disable", "nvls_enable"}  # one file has them
    assert changed == {name} or changed < variables


def test_the_place_that_differs_is_named(node: PlantedNode) -> None:
    for name in ("nic_rate", "rdma_ports", "gpu_link_width", "governor"):
        SPOILT[name][0](node)
    found = {name: text_of_values(values) for name, values in node.settings().items()}
    assert found["nic_rate"] == "7 x 400 and 1 x 200 (mlx5_7/1)"
    assert found["rdma_ports"] == "7 x ACTIVE and 1 x DOWN (mlx5_7/1)"
    assert found["gpu_link_width"] == "7 x 16 and 1 x 8 of 16 (GPU 7)"
    assert found["governor"] == "7 x performance and 1 x powersave (policy7)"
    assert found["tuned"] == "hpc"


def test_an_open_kernel_module_has_dma_buf(node: PlantedNode) -> None:
    SPOILT["gpudirect"][0](node)
    told = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  610.43\n"
    node.write("proc/driver/nvidia/version", told)
    assert node.settings()["gpudirect"] == (SettingValue("Open Kernel Module"),)


def test_without_infiniband_nothing_is_said_of_it(tmp_path: Path) -> None:
    assert set(read_settings(audited(), {}, tmp_path)) == {"irqbalance"}
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/limits").write_text("Max locked memory   65536   65536  bytes\n")
    assert "memlock" not in read_settings(audited(), {}, tmp_path)


def test_what_is_not_readable_is_not_known(node: PlantedNode) -> None:
    """The kernel shows the first 64 bytes of a configuration space to all users."""
    for config in node.root.rglob("config"):
        config.write_bytes(config.read_bytes()[:64])
    (node.root / CARD / "speed").write_text("-1\n")  # it is down
    found = node.settings()
    assert not {"acs", "net_speed"} & set(found)


def test_interfaces_of_containers_do_not_count(node: PlantedNode) -> None:
    for name in ("lxc12ab", "cali4f", "docker0"):
        node.write(f"sys/class/net/{name}/mtu", "1450\n")
        node.write(f"sys/class/net/{name}/speed", "10000\n")
    found = node.settings()
    assert found["mtu"] == (SettingValue("9000"),)
    assert found["net_speed"] == (SettingValue("100000"),)


def test_a_device_without_the_capability(node: PlantedNode) -> None:
    for config in node.root.rglob("config"):
        config.write_bytes(bytes(4096))
    assert "acs" not in node.settings()


def test_capabilities_that_name_each_other_in_a_circle(node: PlantedNode) -> None:
    space = bytearray(4096)
    struct.pack_into("<I", space, 0x100, 0x100 << 20 | 1)
    for config in node.root.rglob("config"):
        config.write_bytes(space)
    assert "acs" not in node.settings()


def test_a_file_that_hangs_ends_the_reading(tmp_path: Path) -> None:
    """Nobody writes to the FIFO, so that opening it waits, as a broken device may."""
    for name in ("first", "third"):
        (tmp_path / name).write_text(name)
    os.mkfifo(tmp_path / "second")
    sources = {name: SettingSource(read=(name,)) for name in ("first", "second", "third")}
    sources["second"] = SettingSource(read=("second",), acs=True)
    assert set(read_settings(sources, {}, tmp_path, limit=0.2)) == {"first"}
    os.close(os.open(tmp_path / "second", os.O_WRONLY | os.O_NONBLOCK))  # it goes on


def test_this_host() -> None:
    found = read_settings(audited(), {}, limit=PATIENCE)
    assert found
    assert set(found) <= set(audited())
