"""Which setting of which node is the odd one, and what it may explain."""

from pathlib import Path

import pytest

from milabench_ddp.node_settings import Settings, SettingValue
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.finding import Finding
from milabench_ddp.report.suspects import ALL, costs_of, explained, settings_of, suspects_of
from milabench_ddp.results.read_run import read_run
from milabench_ddp.results.records import Run
from tests.support.runs_with_settings import (
    collective,
    settings_of_node,
    transfer,
    write_nodes,
    write_process,
)
from tests.support.settings_tree import SPOILT


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return settings_of_node(tmp_path_factory.mktemp("good"))


def spoilt(tmp_path: Path, *names: str) -> Settings:
    return settings_of_node(tmp_path / "spoilt", *[SPOILT[name][0] for name in names])


def run_of(folder: Path, *settings: Settings, first: str = "n1") -> Run:
    nodes = {f"n{k}" if first else "": each for k, each in enumerate(settings, 1)}
    write_nodes(folder, nodes, "t")
    return read_run(folder)


def test_equal_nodes_have_no_suspects(tmp_path: Path, good: Settings) -> None:
    assert suspects_of(run_of(tmp_path / "run", *[good] * 4)) == []


@pytest.mark.parametrize("name", SPOILT)
@pytest.mark.parametrize("odd", [0, 3])
def test_each_setting_of_one_node(tmp_path: Path, good: Settings, name: str, odd: int) -> None:
    """It is named, with its node, and nothing else but what the same file tells."""
    nodes = [good] * 4
    nodes[odd] = spoilt(tmp_path, name)
    found = suspects_of(run_of(tmp_path / "run", *nodes))
    if name in ("cpus_offline", "product"):  # the others tell none; another product has no peers
        assert found == []
        return
    assert [(each.name, each.node) for each in found] == [(name, f"n{odd + 1}")]
    assert SPOILT[name][1] in found[0].shown
    assert (found[0].state == "broken") == found[0].setting.fails


@pytest.mark.parametrize("name", ["nic_rate", "rdma_ports", "nic_link_width", "dimms"])
def test_of_two_nodes_none_is_the_odd_one(tmp_path: Path, good: Settings, name: str) -> None:
    """What is slow by design is so on all nodes; of two nodes nothing tells which is right."""
    bad = spoilt(tmp_path, name)
    found = suspects_of(run_of(tmp_path / "two", good, bad))
    assert not any(each.state == "broken" for each in found)
    everywhere = suspects_of(run_of(tmp_path / "all", *[bad] * 4))
    assert not any(each.state == "broken" for each in everywhere)


@pytest.mark.parametrize("name", ["gpu_link_width", "nvlinks", "fabric"])
def test_a_gpu_is_compared_with_the_others_of_its_host(tmp_path: Path, name: str) -> None:
    (found,) = suspects_of(run_of(tmp_path / "run", spoilt(tmp_path, name), first=""))
    assert (found.node, found.state, "GPU 7" in found.shown) == ("", "broken", True)


def test_all_gpus_in_narrow_slots_are_not_broken(tmp_path: Path, good: Settings) -> None:
    narrow = {**good, "gpu_link_width": (SettingValue("8 of 16", 8),)}
    found = suspects_of(run_of(tmp_path / "run", narrow, narrow, narrow))
    assert [each.state for each in found] == ["bad"] * 3
    assert found[0].sentence == "the PCIe width of its GPUs is 8 x 8 of 16 on n1"


def test_runs_without_settings(tmp_path: Path) -> None:
    assert suspects_of(run_of(tmp_path / "run", {}, {})) == []
    write_nodes(tmp_path / "damaged", {"": {"mtu": "a text"}}, "t")  # type: ignore[dict-item]
    assert settings_of(read_run(tmp_path / "damaged")) == {}


def test_what_a_benchmark_measures(tmp_path: Path) -> None:
    write_process(tmp_path, "a", "", transfer(1.0))
    write_process(tmp_path, "b", "", transfer(1.0, "copy"))
    write_process(tmp_path, "c", "", collective(1.0, 1.0, ranks=8), device=None)
    write_process(tmp_path, "d", "n0", collective(1.0, 1.0, ranks=16), device=None, nodes=2)
    write_process(tmp_path, "e", "")
    kinds = {row.name: costs_of(row) for row in report_of([tmp_path]).rows}
    assert kinds == {
        "a": {"transfer"}, "b": {"memory"}, "c": {"p2p"}, "d": {"p2p", "network"}, "e": ALL
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "nodes", "said"),
    [
        ("mtu", ("n4",), "x; the MTU of its interfaces is 1500 on n4"),
        ("mtu", ("n1",), "x"),  # it is another node
        ("mtu", (), "x"),
        ("power_cap", ("n4",), "x"),  # which does not slow communication down
    ],
)
def test_what_may_explain_a_finding(
    tmp_path: Path, good: Settings, name: str, nodes: tuple[str, ...], said: str
) -> None:
    run = tmp_path / "run"
    run_of(run, good, good, good, spoilt(tmp_path, name))
    payload = collective(1.0, 1.0, ranks=32)
    for k in range(1, 5):
        write_process(run, "t", f"n{k}", payload, device=None, nodes=4)
    (row,) = report_of([run]).rows
    found = explained(Finding("x", nodes=nodes), row)
    assert found.sentence == said
    assert ("explained_by" in found.evidence) == (said != "x")


def test_several_settings_are_in_the_order_of_the_table(tmp_path: Path, good: Settings) -> None:
    run = tmp_path / "run"
    bad = spoilt(tmp_path, "mtu", "acs")
    run_of(run, good, good, good, bad, bad)
    write_process(run, "t", "n1", collective(1.0, 1.0, ranks=40), device=None, nodes=5)
    (row,) = report_of([run]).rows
    said = explained(Finding("x", nodes=("n4", "n5")), row).evidence["explained_by"]
    first, second = said.split(", ")
    assert first.startswith("the redirection of peer-to-peer traffic")
    assert first.endswith("is enabled on n[4-5]")
    assert second.startswith("the MTU")


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("rdma_ports", (SettingValue("ACTIVE", 9),)),
        ("nic_rate", (SettingValue("400", 9),)),
        ("dimms", (SettingValue("65536", 8), SettingValue("131072", 1, "mc8/dimm0"))),
        ("nvlinks", (SettingValue("24", 8),)),
    ],
)
def test_a_node_that_has_more_is_not_broken(
    tmp_path: Path, good: Settings, name: str, more: tuple[SettingValue, ...]
) -> None:
    (found,) = suspects_of(run_of(tmp_path / "run", good, good, good, {**good, name: more}))
    assert (found.name, found.node, found.state) == (name, "n4", "differs")


def test_nodes_of_another_product_are_not_compared(tmp_path: Path, good: Settings) -> None:
    """Those of the second product have half of the cards each; one of them has lost another."""
    few = {"product": (SettingValue("B"),), "nic_rate": (SettingValue("400", 4),)}
    other = {**good, **few}
    lost = {**other, "nic_rate": (SettingValue("400", 3),)}
    found = suspects_of(run_of(tmp_path / "run", *[good] * 5, other, other, lost))
    assert [(each.name, each.node, each.state == "broken") for each in found] == [
        ("nic_rate", "n8", True)
    ]
