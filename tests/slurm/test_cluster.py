"""The virtual cluster is a cluster, and its faults are faults."""

import pytest

from .live import LiveCluster
from .slots import free_slot

pytestmark = pytest.mark.slurm


def test_all_nodes_are_idle(cluster):
    assert cluster.nodes() == {f"node{k}": "idle" for k in range(1, 6)}


def test_a_job_on_two_nodes_has_two_host_names_and_the_gpus_it_asked_for(cluster):
    said = cluster.srun(
        "--nodes=2", "--gres=gpu:2", "sh", "-c", "echo $(hostname) $CUDA_VISIBLE_DEVICES"
    )
    assert sorted(said.splitlines()) == ["node1 0,1", "node2 0,1"]


def test_without_gres_there_is_no_gpu(cluster):
    assert cluster.srun("sh", "-c", "echo [$CUDA_VISIBLE_DEVICES]").strip() == "[]"


def test_a_node_has_processes_and_shared_memory_of_its_own(cluster):
    cluster.exec("node1", "touch", "/dev/shm/mine")
    assert cluster.exec("node1", "ls", "/dev/shm").split() == ["mine"]
    assert cluster.exec("node2", "ls", "/dev/shm").split() == []
    commands = cluster.exec("node2", "ps", "-e", "-o", "comm=").split()
    assert "slurmd" in commands
    assert "slurmctld" not in commands


def test_nodes_find_one_another_by_name(networked):
    """And each has an address of its own."""
    addresses = {
        networked.exec(node, "getent", "ahostsv4", "node3").split()[0]
        for node in ("node1", "node3")
    }
    assert len(addresses) == 1
    assert addresses.pop() in networked.exec("node3", "ip", "-brief", "address", "show", "eth0")


def test_the_accounting_says_what_became_of_a_job(cluster):
    good = cluster.sbatch("--output=/dev/null", "--wrap=true")
    bad = cluster.sbatch("--output=/dev/null", "--wrap=exit 3")
    assert (cluster.await_end(good), cluster.await_end(bad)) == ("COMPLETED", "FAILED")


def test_a_crashed_node_is_down_and_its_job_lost_until_it_is_booted(cluster):
    job = cluster.sbatch("--nodes=2", "--no-requeue", "--output=/dev/null", "--wrap=srun sleep 300")
    cluster.await_running(job)
    cluster.crash("node2")
    assert cluster.await_end(job) == "NODE_FAIL"
    assert cluster.nodes()["node2"].startswith("down")
    cluster.boot("node2")
    cluster.wait("node2 idle", 20, lambda: cluster.nodes()["node2"] == "idle")


def test_a_node_that_comes_back_before_anybody_noticed_is_a_new_one(cluster):
    cluster.exec("node4", "touch", "/dev/shm/mine")
    cluster.crash("node4")
    cluster.boot("node4")
    assert cluster.exec("node4", "ls", "/dev/shm").split() == []
    assert cluster.srun("--nodelist=node4", "hostname").strip() == "node4"


def test_a_node_without_its_cable_lives_but_does_not_answer(networked):
    networked.cut("node3")
    assert networked.exec("node3", "hostname").strip() == "node3"
    networked.wait("node3 down", 30, lambda: networked.nodes()["node3"].startswith("down"))
    networked.heal("node3")
    networked.wait("node3 idle", 60, lambda: networked.nodes()["node3"] == "idle")


def test_a_limited_node_sends_no_faster(networked):
    """5 MB at 40 Mbit/s take a second; unlimited, a small part of it on a machine with room."""
    receive = "import socket, sys; s = socket.create_server(('', 9000)); c, _ = s.accept()\n"
    receive += "while c.recv(1 << 20): pass"
    send = "import socket, time; c = socket.create_connection(('node2', 9000))\n"
    send += "t = time.monotonic(); c.sendall(bytes(5_000_000)); c.shutdown(1); c.recv(1)\n"
    send += "print(time.monotonic() - t)"

    networked.rate("node1", "40mbit")
    job = networked.sbatch(
        "--nodelist=node2", "--output=/dev/null", f'--wrap=exec python3 -c "{receive}"'
    )
    networked.wait("a listener", 60, lambda: ":9000" in networked.exec("node2", "ss", "-ltn"))
    seconds = float(networked.exec("node1", "python3", "-c", send))
    networked.await_end(job)
    assert seconds > 0.9


def test_a_node_that_there_is_not(cluster):
    with pytest.raises(AssertionError, match="no node 'node9': the nodes are node1 to node5"):
        cluster.crash("node9")


def test_a_second_cluster_runs_beside_it_on_the_loopback_interface(cluster):
    with free_slot() as slot:
        other = LiveCluster(slot, 2, network=False)
        other.up()
        try:
            assert other.nodes() == {"node1": "idle", "node2": "idle"}
            assert sorted(other.srun("--nodes=2", "hostname").split()) == ["node1", "node2"]
            with pytest.raises(AssertionError, match="`up N --netns` gives one"):
                other.cut("node1")
            other.crash("node1")
            assert "node3" in cluster.srun("--nodelist=node3", "hostname")
        finally:
            other.down()
    assert set(cluster.nodes().values()) == {"idle"}
