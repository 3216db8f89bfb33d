"""What the cluster script decides before it starts anything; this needs no Slurm."""

import shutil
import socket
from dataclasses import replace
from itertools import pairwise

import pytest

from tests.support.wait import wait_for

from .slots import SLOTS, free_slot
from .virtual import files, main, needs, settings
from .virtual.errors import ClusterError
from .virtual.network import shaping
from .virtual.processes import Processes


@pytest.fixture
def made(tmp_path):
    """The settings of a cluster of two nodes in a temporary folder."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "nodes").write_text("2\n")
    return settings.read({"MILABENCH_SLURM_DIR": str(tmp_path), "MILABENCH_SLURM_SLOT": "3"})


def test_slots_share_nothing():
    slots = [settings.read({"MILABENCH_SLURM_SLOT": str(k)}) for k in range(settings.SLOTS)]
    for name in ("directory", "port", "network", "bridge"):
        assert len({getattr(slot, name) for slot in slots}) == settings.SLOTS
    ports = sorted(slot.port for slot in slots)
    room = min(b - a for a, b in pairwise(ports))
    assert room > 100 + settings.MOST_NODES
    assert ports[-1] + 100 + settings.MOST_NODES < 20000  # where runners/torchrun_script.sh begins


def test_two_sessions_hold_different_slots():
    with free_slot() as one, free_slot() as other:
        assert one != other
        assert {one, other} <= set(SLOTS) <= set(range(settings.SLOTS))


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"SLOT": "10"}, "MILABENCH_SLURM_SLOT is '10': give a number from 0 to 9"),
        ({"CPUS": "many"}, "MILABENCH_SLURM_CPUS is 'many': give a number from 1 to 4096"),
        ({"DIR": "here"}, "MILABENCH_SLURM_DIR is here: give a plain absolute path"),
        ({"DIR": "/tmp/my cluster"}, "give a plain absolute path"),
    ],
)
def test_settings_that_cannot_be(environ, message):
    with pytest.raises(ClusterError, match=message):
        settings.read({f"MILABENCH_SLURM_{name}": value for name, value in environ.items()})


@pytest.mark.parametrize("name", ["node0", "node3", "node01", "two", "node", "node1;ls"])
def test_only_its_own_nodes_have_a_number(made, name):
    assert made.number("node2") == 2
    with pytest.raises(ClusterError, match="the nodes are node1 to node2"):
        made.number(name)


def test_hosts_names_every_node_in_both_families(made):
    assert files.hosts(made, 2, "login").splitlines() == [
        "127.0.0.1 localhost",
        "::ffff:127.0.0.1 localhost",
        "127.0.0.1 login",
        "::ffff:127.0.0.1 login",
        "127.0.99.1 node1",
        "::ffff:127.0.99.1 node1",
        "127.0.99.2 node2",
        "::ffff:127.0.99.2 node2",
    ]


def test_with_a_network_each_node_has_an_address_on_it(made):
    (made.directory / "etc" / "netns").touch()
    assert (made.host, made.address(2)) == ("10.213.103.254", "10.213.103.2")


def test_a_port_that_is_taken_is_named(made, monkeypatch):
    monkeypatch.setattr(needs, "missing", lambda **_: None)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(ClusterError, match=f"port {port} is in use: choose another"):
            needs.check(replace(made, port=port), 2, network=False)


def test_what_is_missing_is_a_sentence(monkeypatch):
    monkeypatch.setattr(needs.os, "geteuid", lambda: 1000)
    assert needs.missing(network=False) == "a cluster of virtual nodes needs root: this is not root"
    monkeypatch.setattr(needs.os, "geteuid", lambda: 0)
    monkeypatch.setattr(needs.shutil, "which", lambda name: None if "slurm" in name else f"/{name}")
    assert needs.missing(network=False) == (
        "not installed: slurmctld, slurmd, slurmdbd; `tests/slurm/cluster install` installs Slurm"
    )
    monkeypatch.setattr(needs.shutil, "which", lambda name: f"/{name}")
    monkeypatch.setattr(needs, "succeeds", lambda *_: False)
    assert "namespaces" in needs.missing(network=False)
    monkeypatch.setattr(needs, "succeeds", lambda *command: "--net" not in command)
    assert needs.missing(network=False) is None
    assert "without --netns" in needs.missing(network=True)


def test_a_process_of_somebody_else_is_not_ours(tmp_path):
    """A pid file may name a process that has since got that number."""
    ours = Processes(tmp_path)
    for folder in ("run", "log"):
        (tmp_path / folder).mkdir()
    sleeper = ours.start([shutil.which("sleep"), "60"], "sleep.log")
    try:
        ours.path("sleep").write_text(str(sleeper.pid))
        # Popen returns while the kernel still sets up what /proc shows of the new program.
        wait_for(lambda: ours.pid("sleep") == sleeper.pid)
        others = Processes(tmp_path / "other")
        (tmp_path / "other" / "run").mkdir(parents=True)
        others.path("sleep").write_text(str(sleeper.pid))
        assert others.pid("sleep") is None
        others.stop("sleep")
        assert sleeper.poll() is None
    finally:
        ours.stop("sleep", kill=True)
        sleeper.wait()
    assert not ours.path("sleep").exists()


def test_a_cluster_that_is_not_up_is_a_sentence_and_exit_code_1(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MILABENCH_SLURM_DIR", str(tmp_path))
    assert main.main(["status"]) == 1
    assert main.main(["crash", "node1"]) == 1
    assert main.main(["down"]) == 0  # twice does no harm
    assert capsys.readouterr().err == (
        f"cluster: no cluster is up in {tmp_path}\n"
        f"cluster: no cluster was started in {tmp_path}: run `up`\n"
    )


def test_a_folder_of_somebody_else_is_not_emptied(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(needs, "check", lambda *_, **__: None)
    monkeypatch.setenv("MILABENCH_SLURM_DIR", str(tmp_path))
    (tmp_path / "thesis").write_text("")
    assert main.main(["up"]) == 1
    assert "is not empty, and no cluster's" in capsys.readouterr().err
    assert (tmp_path / "thesis").exists()


def test_a_limit_is_a_token_bucket():
    assert shaping("200mbit")[-6:] == ["rate", "200mbit", "burst", "256kb", "latency", "50ms"]
    assert shaping("off")[-1] == "pfifo_fast"
