"""The settings of nodes in a real run: read for a validation, on one host and on several nodes."""

import pytest

from tests.support.workplace import GOOD, Workplace

SUITE = "{name}: {{program: {name}.py, plan: {{method: per_gpu}}, weight: 1, tags: [{tag}]}}\n"
ON_CPU = ("--device", "cpu", "--gpus", "1", "--name", "mine")


def run(at: Workplace, tag: str, *options: str) -> None:
    at.write("good.py", GOOD)
    at.write("suite.yaml", SUITE.format(name="good", tag=tag))
    done = at.milabench("run", "suite.yaml", *ON_CPU, *options)
    assert done.code in (0, 3), done.err  # 3: too little was measured to judge the nodes by it


def test_a_single_host(at: Workplace) -> None:
    run(at, "validate")
    found = at.state().header.machine["settings"]
    assert found["nofile"][0]["value"].isdecimal()
    table = at.milabench("report", str(at.run()), "--table", "settings", "--csv")
    assert "nofile," in table.out
    assert at.milabench("report", str(at.run())).out.count("nodes differ") == 0


def test_parts_of_a_host(at: Workplace) -> None:
    run(at, "validate", "--runner", "local", "--nodes", "2")
    nodes = at.state().nodes
    assert list(nodes) == ["node0", "node1"]
    assert nodes["node0"].settings["nofile"] == nodes["node1"].settings["nofile"]
    assert at.state().header.machine["settings"] == {}  # of the coordinator's own host


@pytest.mark.parametrize("options", [(), ("--runner", "local", "--nodes", "2")])
def test_other_runs_read_no_settings(at: Workplace, options: tuple[str, ...]) -> None:
    run(at, "cpu", *options)
    assert at.state().header.machine["settings"] == {}
    assert not any(node.settings for node in at.state().nodes.values())
