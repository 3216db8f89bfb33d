"""Findings about settings and bandwidths: what fails a node, what warns, what is silent."""

from pathlib import Path

import pytest

from milabench_ddp.node_settings import Settings
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.finding import Finding, Severity
from tests.support.runs_with_settings import (
    collective,
    settings_of_node,
    transfer,
    write_nodes,
    write_process,
)
from tests.support.settings_tree import SPOILT

OURS = ("degraded_node", "bad_setting", "different_nodes", "below_bound")


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return settings_of_node(tmp_path_factory.mktemp("good"))


def spoilt(folder: Path, *names: str) -> Settings:
    return settings_of_node(folder / "spoilt", *[SPOILT[name][0] for name in names])


def found(run: Path, *settings: Settings, first: str = "n1") -> list[Finding]:
    nodes = {f"n{k}" if first else "": each for k, each in enumerate(settings, 1)}
    write_nodes(run, nodes, "t")
    for node in nodes:
        write_process(run, "t", node, transfer(55.0), nodes=len(nodes))
    return ours(run)


def ours(run: Path) -> list[Finding]:
    return [each for each in report_of([run]).findings if each.name in OURS]


def test_healthy_nodes_have_no_findings(tmp_path: Path, good: Settings) -> None:
    assert found(tmp_path, *[good] * 4) == []


@pytest.mark.parametrize(
    ("name", "finding", "severity", "fails", "action"),
    [
        ("gpu_link_width", "degraded_node", Severity.WARNING, True, "reset"),
        ("rdma_ports", "degraded_node", Severity.WARNING, True, "isolate"),
        ("dimms", "degraded_node", Severity.WARNING, True, "isolate"),
        ("governor", "bad_setting", Severity.WARNING, False, ""),
        ("acs", "bad_setting", Severity.WARNING, False, ""),
        ("mtu", "different_nodes", Severity.WARNING, False, ""),
    ],
)
@pytest.mark.parametrize("odd", [0, 3])
def test_a_setting_of_one_node_is_told_once(
    tmp_path: Path,
    good: Settings,
    name: str,
    finding: str,
    severity: Severity,
    fails: bool,
    action: str,
    odd: int,
) -> None:
    nodes = [good] * 4
    nodes[odd] = spoilt(tmp_path, name)
    (one,) = found(tmp_path / "run", *nodes)
    assert (one.name, one.severity, one.fails, one.action) == (finding, severity, fails, action)
    assert (one.nodes, one.place) == ((f"n{odd + 1}",), f"n{odd + 1}")
    assert one.advice


def test_many_nodes_are_one_finding(tmp_path: Path, good: Settings) -> None:
    bad = spoilt(tmp_path, "governor")
    (one,) = found(tmp_path / "run", good, bad, bad, bad)
    assert one.nodes == ("n2", "n3", "n4")
    said = (
        "the frequency governor of its CPUs is 7 x performance and 1 x powersave (policy7) "
        "on n[2-4], which can slow down"
    )
    assert one.sentence.startswith(said)
    assert "traffic to other nodes" in one.sentence
    assert one.evidence["setting"] == "governor"


def test_a_single_host(tmp_path: Path, good: Settings) -> None:
    assert found(tmp_path / "good", good, first="") == []
    bad = spoilt(tmp_path, "thp", "nvlinks")
    broken, setting = found(tmp_path / "bad", bad, first="")
    assert (broken.name, broken.nodes, broken.place) == ("degraded_node", ("",), "")
    assert broken.sentence.startswith(
        "the number of NVLinks of its GPUs is 7 x 18 and 1 x 17 (GPU 7), which can slow down"
    )
    assert (setting.name, setting.evidence["value"]) == ("bad_setting", "never")


def test_a_low_bandwidth_is_named_with_what_may_explain_it(tmp_path: Path, good: Settings) -> None:
    bad = spoilt(tmp_path, "gpu_link_width", "mtu")
    run = tmp_path / "run"
    write_nodes(run, {"n1": good, "n2": good, "n3": bad}, "t")
    for node in ("n1", "n2", "n3"):
        write_process(run, "t", node, transfer(13.0 if node == "n3" else 55.0), device=7, nodes=3)
    (low,) = [each for each in ours(run) if each.name == "below_bound"]
    assert (low.nodes, low.place, low.fails) == (("n3",), "n3, GPU 7", False)
    assert low.evidence["share"] == pytest.approx(13.0 / 63.02, rel=1e-3)
    explained = "the PCIe width of its GPUs is 7 x 16 and 1 x 8 of 16 (GPU 7) on n3"
    assert low.evidence["explained_by"] == explained  # not by the MTU
    assert low.advice.startswith("reset the GPU")
    assert "compare it with that of other nodes" in low.advice
    assert low.sentence == (
        "t: h2d pinned, n3, GPU 7: 13 GB/s, 21% of the 63.02 that its links allow (PCIe 5 x16); "
        f"{explained}"
    )


@pytest.mark.parametrize(("gb_s", "count"), [(31.4, 1), (31.6, 0)])
def test_the_share_that_is_low(tmp_path: Path, gb_s: float, count: int) -> None:
    write_process(tmp_path, "t", "", transfer(gb_s))
    assert len(ours(tmp_path)) == count


def test_other_runs_have_no_such_findings(tmp_path: Path) -> None:
    write_process(tmp_path, "t", "", transfer(13.0), tags=["gpu"])
    write_process(tmp_path, "c", "", collective(10.0, 1.75, ranks=8), device=None, tags=[])
    assert ours(tmp_path) == []
    (checked,) = [e for e in report_of([tmp_path]).checks if e.finding == "below_bound"] or [None]
    assert checked is None
