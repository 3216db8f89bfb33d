"""What links allow: figures that others published, and links that are known or not."""

from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.bounds import Bounded, bounds_of
from tests.support.runs_with_settings import (
    collective,
    settings_of_node,
    transfer,
    write_nodes,
    write_process,
)
from tests.support.settings_tree import GPU


def of(run: Path) -> list[Bounded]:
    (row,) = report_of([run]).rows
    return list(bounds_of(row))


@pytest.mark.parametrize(
    ("path", "gb_s", "generation", "width", "limit"),
    [
        ("h2d pinned", 55.4, 5, 16, 63.02),  # an H200, by nvbandwidth: 88 %
        ("d2h pinned", 25.1, 4, 16, 31.51),
        ("both pinned", 100.0, 5, 16, 126.03),
        ("h2d pinned", 12.0, 3, 16, 15.75),
        ("h2d pinned", 3.2, 1, 16, 4.0),
        ("h2d pinned", 100.0, 6, 16, 121.0),
        ("h2d pinned", 6.0, 4, 4, 7.877),
    ],
)
def test_copies(
    tmp_path: Path, path: str, gb_s: float, generation: int, width: int, limit: float
) -> None:
    gpu = GPU | {"pcie": {"generation": generation, "width": width}}
    write_process(tmp_path, "t", "", transfer(gb_s, path), gpu=gpu)
    (found,) = of(tmp_path)
    assert found.limit.gb_s == pytest.approx(limit, rel=1e-3)
    assert found.share == pytest.approx(gb_s / limit, rel=1e-3)
    assert (found.what, found.place, found.nodes) == (path, "GPU 0", ("",))
    assert found.limit.links == f"PCIe {generation} x{width}"


@pytest.mark.parametrize("slow", [0, 7])
def test_the_slowest_device_of_a_node_is_shown(tmp_path: Path, slow: int) -> None:
    for device in range(8):
        gb_s = 20.0 if device == slow else 55.0 + device / 10
        write_process(tmp_path, "t", "", transfer(gb_s), device=device)
    (found,) = of(tmp_path)
    assert (found.place, found.gb_s, found.is_low) == (f"GPU {slow}", 20.0, True)


def test_copies_in_one_process_of_a_node(tmp_path: Path) -> None:
    write_process(tmp_path, "t", "", transfer(55.0), transfer(20.0), device=None)
    (found,) = of(tmp_path)
    assert (found.place, found.gb_s) == ("", 20.0)


@pytest.mark.parametrize(
    ("payload", "gpu"),
    [
        (transfer(10.0, "h2d pageable"), GPU),  # the driver copies first
        (transfer(10.0, "copy"), GPU),  # of the GPU's memory
        (transfer(10.0), GPU | {"pcie": {"generation": 5}}),
        (transfer(10.0), GPU | {"pcie": {"generation": 9, "width": 16}}),
        (transfer(10.0), {}),
        ({"bandwidth": {"path": "h2d pinned", "gb_s": "fast"}}, GPU),
    ],
)
def test_what_is_not_known_has_no_bound(tmp_path: Path, payload: Any, gpu: Any) -> None:
    write_process(tmp_path, "t", "", payload, gpu=gpu)
    assert of(tmp_path) == []


@pytest.mark.parametrize(
    ("algorithm", "bus", "limit", "is_low"),
    [
        # NVIDIA H200, published: 367.6 of a ring, 482.3 of NVLS (stas00/ml-engineering)
        ("Ring", 367.6, 450.0, False),
        ("NVLS", 482.3, 700.0, False),
        ("Tree", 300.0, 450.0, False),
        ("Ring", 216.5, 450.0, True),  # NVIDIA/nccl #2409 has it for about 470
        ("NVLS", 216.5, 700.0, True),
    ],
)
def test_all_reduce_in_a_node(
    tmp_path: Path, algorithm: str, bus: float, limit: float, is_low: bool
) -> None:
    write_process(tmp_path, "c", "", collective(bus, 1.75, algorithm, ranks=8), device=None)
    (found,) = of(tmp_path)
    assert found.limit.gb_s == pytest.approx(limit)
    assert found.limit.links == f"{algorithm} over 18 NVLinks of 25 GB/s"
    assert found.is_low == is_low


@pytest.mark.parametrize(
    ("op", "algorithm", "more"),
    [
        ("all_reduce", "", {}),  # an old NCCL does not tell: it may be NVLS
        ("all_reduce", "Ring", {"backend": "gloo"}),
        ("p2p", "", {"ranks": 32}),
        ("all_reduce", "Ring", {"among": "node"}),  # parts at the same time
    ],
)
def test_collectives_without_a_bound(
    tmp_path: Path, op: str, algorithm: str, more: dict[str, Any]
) -> None:
    nodes = more.get("ranks", 8) // 8
    names = [f"n{k}" for k in range(nodes)]
    write_nodes(tmp_path, {name: settings_of_node(tmp_path / "files") for name in names}, "c")
    payload = collective(300.0, 1.75, algorithm, op, **{"ranks": 8, **more})
    write_process(tmp_path, "c", "n0", payload, device=None, nodes=nodes)
    assert of(tmp_path) == []


@pytest.mark.parametrize(
    ("op", "algorithm", "nodes", "limit"),
    [
        # 8 cards of 400 Gb/s are 400 GB/s, 18 NVLinks 450, of NVLS 700
        ("all_reduce", "Ring", 4, 400.0),
        ("all_reduce", "NVLSTree", 4, 400.0 * 4 / 3 * 31 / 32),
        ("all_reduce", "Tree", 2, 450.0),  # of the cards 750: each node sends its data once
        ("all_reduce", "NVLSTree", 2, 700.0),
        ("all_reduce", "CollNetDirect", 16, 450.0),
        ("all_gather", "Ring", 4, 400.0),
        ("reduce_scatter", "PAT", 16, 400.0 * 16 / 15 * 127 / 128),
        ("broadcast", "Tree", 4, 400.0),
        ("all_to_all", "", 4, 400.0 / 8 * 4 / 3 * 31 / 32),
    ],
)
def test_collectives_between_nodes(
    tmp_path: Path, op: str, algorithm: str, nodes: int, limit: float
) -> None:
    settings = settings_of_node(tmp_path / "files")
    names = [f"n{k}" for k in range(nodes)]
    write_nodes(tmp_path / "run", dict.fromkeys(names, settings), "c")
    payload = collective(40.0, 1.0, algorithm, op, ranks=8 * nodes)
    for name in names:
        told = [payload] if name == "n0" else []
        write_process(tmp_path / "run", "c", name, *told, device=None, nodes=nodes)
    (found,) = of(tmp_path / "run")
    assert found.limit.gb_s == pytest.approx(limit)
    assert found.nodes == tuple(sorted(names))


@pytest.mark.parametrize("slow", ["n0", "n3"])
def test_each_node_by_itself(tmp_path: Path, slow: str) -> None:
    """Its bound is that of its NVLinks, and the slow one is named."""
    names = [f"n{k}" for k in range(4)]
    write_nodes(tmp_path / "run", dict.fromkeys(names, settings_of_node(tmp_path / "files")), "c")
    for name in names:
        payload = collective(200.0 if name == slow else 367.6, 1.75, ranks=8)
        where = {"device": None, "nodes": 4, "each": {"each": "node"}}
        write_process(tmp_path / "run", "c", name, payload, **where)
    found = {each.nodes: each for each in of(tmp_path / "run")}
    assert set(found) == {(name,) for name in names}
    assert {each.limit.gb_s for each in found.values()} == {450.0}
    assert [nodes for nodes, each in found.items() if each.is_low] == [(slow,)]


def test_the_bandwidth_that_the_fit_approaches_counts(tmp_path: Path) -> None:
    """64 MiB are a small message for eight H200: 200 GB/s there, and 360 in the limit."""
    fit = {"comm_fit": {"op": "all_reduce", "alpha_us": 20.0, "beta_gb_s": 360.0 / 1.75}}
    payload = collective(200.0, 1.75, ranks=8)
    write_process(tmp_path, "c", "", payload, fit, device=None)
    (found,) = of(tmp_path)
    assert (found.gb_s, found.is_low) == (pytest.approx(360.0), False)


@pytest.mark.parametrize(("ways", "gb_s", "limit"), [(1, 396.4, 450.0), (2, 783.7, 900.0)])
def test_pairs_in_a_node(tmp_path: Path, ways: int, gb_s: float, limit: float) -> None:
    """H200, by nvbandwidth; a pair without a switch has some of the links, and no bound."""
    pairs = [
        {
            "pair": {
                "from": 0,
                "to": to,
                "ways": ways,
                "nodes": ["", ""],
                "gb_s": gb_s,
                "best_gb_s": gb_s,
            }
        }
        for to in (1, 2)
    ]
    write_process(tmp_path / "a", "p", "", *pairs, device=None)
    (found,) = of(tmp_path / "a")
    assert (found.gb_s, found.limit.gb_s, found.is_low) == (gb_s, limit, False)
    direct = GPU | {"nvlink": {"links": 12, "gb_s": 25.0, "switched": False}}
    write_process(tmp_path / "b", "p", "", *pairs, device=None, gpu=direct)
    assert of(tmp_path / "b") == []


@pytest.mark.parametrize("odd", ["n0", "n3"])
def test_a_gpu_without_links_does_not_hide_the_bound(tmp_path: Path, odd: str) -> None:
    dead = GPU | {"nvlink": {"links": 0, "gb_s": None, "switched": False}}
    names = [f"n{k}" for k in range(4)]
    settings = settings_of_node(tmp_path / "files")
    write_nodes(tmp_path / "run", dict.fromkeys(names, settings), "c")
    for name in names:
        told = [collective(40.0, 2.0, "Ring", ranks=32)] if name == "n0" else []
        gpu = dead if name == odd else GPU
        write_process(tmp_path / "run", "c", name, *told, device=None, nodes=4, gpu=gpu)
    (found,) = of(tmp_path / "run")
    assert found.limit.gb_s == 400.0
