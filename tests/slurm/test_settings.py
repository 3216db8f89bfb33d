"""A setting that one node has alone, the first one or the last: named before and after."""

from contextlib import ExitStack

import pytest

from .sweeps import ended

pytestmark = pytest.mark.slurm
SIZES = {"quick": [4]}
NODES = {"options": "{nodelist: 'node[1-4]'}"}
THP = "/sys/kernel/mm/transparent_hugepage/enabled"


def validated(make_sweep, folder):
    sweep = make_sweep(folder, SIZES, **NODES)
    text = sweep.config.read_text().replace("  weight: 1\n", "  weight: 1\n  tags: [validate]\n")
    sweep.config.write_text(text)
    return sweep


@pytest.mark.parametrize("node", [pytest.param("node1", marks=pytest.mark.slow), "node4"])
def test_one_node_has_another_mtu(networked, make_sweep, tmp_path, node):
    sweep = validated(make_sweep, tmp_path)
    usual = networked.exec(node, "cat", "/sys/class/net/eth0/mtu").strip()
    with ExitStack() as stack:
        change = "ip", "link", "set", "eth0", "mtu"
        stack.callback(networked.exec, node, *change, usual)
        networked.exec(node, *change, "1400")
        code, out, err = ended(sweep.begin())
    assert code in (0, 3), err  # 3: too little was measured to judge the nodes by it
    told = sweep.state().nodes
    assert {name for name, each in told.items() if "1400" in str(each.settings["mtu"])} == {node}
    said = f"nodes differ: the MTU of its interfaces is 1400 on {node}, and {usual} on the other 3"
    assert err.index(said) < err.index("quick-4: on "), err
    assert out.count(said) == 1
    assert "ip link set INTERFACE mtu 9000" in out


@pytest.mark.parametrize("node", [pytest.param("node1", marks=pytest.mark.slow), "node4"])
def test_one_node_has_a_bad_setting(cluster, make_sweep, tmp_path, node):
    sweep = validated(make_sweep, tmp_path)
    (tmp_path / "enabled").write_text("always madvise [never]\n")
    with ExitStack() as stack:
        stack.callback(cluster.exec, node, "umount", THP)
        cluster.exec(node, "mount", "--bind", str(tmp_path / "enabled"), THP)
        code, out, err = ended(sweep.begin())
    assert code in (0, 3), err  # 3: too little was measured to judge the nodes by it
    assert f"transparent huge pages is never on {node}, which can slow down memory" in out
    asked = "report", sweep.run, "--table", "settings", "--csv"
    _, table, _ = ended(sweep.milabench(*asked))
    others = "node[2-4]" if node == "node1" else "node[1-3]"
    states = {tuple(line.split(",")[-2:]) for line in table.splitlines() if line[:4] == "thp,"}
    assert states == {("bad", node), ("ok", others)}
