from types import SimpleNamespace

import pytest
import torch

from benchmarks.common.data_sheet import link_gb_s, memory_gb_s

GPU = torch.device("cuda", 0)


def has(monkeypatch, **properties):
    known = SimpleNamespace(**properties)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: known)


@pytest.mark.parametrize(
    ("megahertz", "bits", "gb_s"),  # NVIDIA's data sheets, in round numbers
    [(2619, 5120, 3350), (3201, 6144, 4800), (1593, 5120, 2039), (10501, 384, 1008)],
    ids=["H100 SXM", "H200", "A100 80 GB", "RTX 4090"],
)
def test_the_memory_of_known_gpus(monkeypatch, megahertz, bits, gb_s):
    monkeypatch.setattr(torch.version, "hip", None)
    has(monkeypatch, memory_clock_rate=megahertz * 1000, memory_bus_width=bits)
    assert memory_gb_s(GPU) == pytest.approx(gb_s, rel=0.03)


@pytest.mark.parametrize(
    ("arch", "name", "megahertz", "bits", "gb_s"),
    [
        ("gfx942", "AMD Instinct MI300X", 1300, 8192, 5300),  # 2,662 by the formula
        ("gfx942", "AMD Instinct MI325X", 1500, 8192, 6000),
        ("gfx950", "AMD Instinct MI355X", 2000, 8192, 8000),
        ("gfx942", "AMD Radeon Graphics", 1300, 8192, None),  # a name that says nothing
        ("gfx1201", "AMD Radeon RX 9070 XT", 1258, 256, None),
        ("gfx90a", "AMD Instinct MI250X", 1600, 4096, 1638.4),  # one of its two dies
    ],
)
def test_the_memory_of_amds_gpus(monkeypatch, arch, name, megahertz, bits, gb_s):
    monkeypatch.setattr(torch.version, "hip", "7.0")
    known = {"memory_clock_rate": megahertz * 1000, "memory_bus_width": bits}
    has(monkeypatch, name=name, gcnArchName=f"{arch}:sramecc+:xnack-", **known)
    assert memory_gb_s(GPU) == gb_s


def test_memory_of_which_nothing_is_known(monkeypatch):
    assert memory_gb_s(torch.device("cpu")) is None
    has(monkeypatch)
    assert memory_gb_s(GPU) is None
    has(monkeypatch, memory_clock_rate=0, memory_bus_width=5120)
    assert memory_gb_s(GPU) is None


@pytest.mark.parametrize(
    ("speed", "lanes", "gb_s"),  # by PCI-SIG's figures
    [
        ("2.5 GT/s PCIe", 16, 4.0),
        ("16.0 GT/s PCIe", 16, 31.5),
        ("32.0 GT/s PCIe", 16, 63.0),
        ("32.0 GT/s PCIe", 8, 31.5),
        ("64.0 GT/s PCIe", 16, 121.0),
    ],
)
def test_links(monkeypatch, tmp_path, speed, lanes, gb_s):
    has(monkeypatch, pci_domain_id=0, pci_bus_id=0xB1, pci_device_id=0)
    folder = tmp_path / "0000:b1:00.0"
    folder.mkdir()
    (folder / "max_link_speed").write_text(f"{speed}\n")
    (folder / "max_link_width").write_text(f"{lanes}\n")
    assert link_gb_s(GPU, tmp_path) == pytest.approx(gb_s, rel=0.005)


@pytest.mark.parametrize(("speed", "lanes"), [("Unknown", "16"), ("32.0 GT/s PCIe", "0")])
def test_a_link_that_tells_nothing(monkeypatch, tmp_path, speed, lanes):
    has(monkeypatch, pci_domain_id=0, pci_bus_id=1, pci_device_id=0)
    assert link_gb_s(GPU, tmp_path) is None
    folder = tmp_path / "0000:01:00.0"
    folder.mkdir()
    (folder / "max_link_speed").write_text(speed)
    (folder / "max_link_width").write_text(lanes)
    assert link_gb_s(GPU, tmp_path) is None
    assert link_gb_s(torch.device("cpu"), tmp_path) is None
