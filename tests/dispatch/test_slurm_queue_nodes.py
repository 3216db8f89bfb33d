"""Which nodes a job asks for, and which it has; Slurm's commands are scripts of the test."""

from collections.abc import Callable
from pathlib import Path

import pytest

from milabench_ddp.config.runner_profile import RunnerProfile
from milabench_ddp.dispatch.slurm_nodes import (
    fewest_cpus,
    has_first_node,
    keep_nodes,
    without_absent,
)
from milabench_ddp.dispatch.slurm_queue import placed
from milabench_ddp.errors import DispatchError

Says = Callable[..., Path]
SCONTROL = """\
case "$2" in
    hostnames) echo "$3" | sed 's/n\\[1-3\\]/n1,n2,n3/' | tr , '\\n';;
    hostlistsorted) echo "<$3>";;
esac
"""


@pytest.fixture
def cluster(says: Says) -> None:
    """Slurm has the nodes n1 to n5, in two partitions."""
    scontrol = says("scontrol", "").with_name("scontrol")
    scontrol.write_text(f"#!/bin/sh\n{SCONTROL}")
    says("sinfo", "n1\nn2\nn2\nn3\nn3\nn4\nn5")


def listed(nodes: str, exclude: str | None = None) -> RunnerProfile:
    options = {"nodelist": nodes, "comment": "x"}
    return RunnerProfile("slurm", exclude=exclude, options=options)


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    ("nodes", "exclude", "left_out"),
    [
        ("n[1-3]", None, "n[4-5]"),
        ("n3,n1,n2", "n2", "n2,n[4-5]"),
        ("n1,n2,n3,n4,n5", None, None),  # all that there are
    ],
)
def test_a_job_on_fewer_nodes_than_are_listed_excludes_all_others(
    nodes: str, exclude: str | None, left_out: str | None
) -> None:
    """Slurm refuses `--nodes=2 --nodelist=n[1-3]`."""
    found = placed(listed(nodes, exclude), 2)
    assert (found.options, found.exclude) == ({"comment": "x"}, left_out)


@pytest.mark.usefixtures("cluster")
def test_a_job_on_as_many_nodes_as_are_listed_or_more_keeps_the_list() -> None:
    for count in (3, 4):
        assert placed(listed("n[1-3]", "n5"), count) == listed("n[1-3]", "n5")
    unlisted = RunnerProfile("slurm", exclude="n5")
    assert placed(unlisted, 1) == unlisted


@pytest.mark.usefixtures("cluster")
def test_a_node_that_is_listed_and_excluded_leaves_the_list() -> None:
    """As `--resume --exclude-nodes` asks after a node is lost: Slurm chooses another."""
    assert placed(listed("n[1-3]", "n2,n5"), 3).options["nodelist"] == "n[1,3]"
    assert "nodelist" not in placed(listed("n2", "n2"), 1).options


@pytest.mark.usefixtures("cluster")
def test_a_name_that_slurm_does_not_know_stays_for_slurm_to_refuse() -> None:
    assert placed(listed("n1,m2,n3"), 1).options["nodelist"] == "m2"


def test_where_slurm_does_not_answer_the_list_stays(
    says: Says, monkeypatch: pytest.MonkeyPatch
) -> None:
    says("scontrol", "n1\nn2")
    says("sinfo", "error", 1)
    assert placed(listed("n[1-2]"), 1) == listed("n[1-2]")
    monkeypatch.setenv("PATH", "/nowhere")
    assert placed(listed("n[1-2]"), 1) == listed("n[1-2]")


@pytest.mark.usefixtures("job")
def test_nodes_that_are_not_needed_any_more_are_given_back(says: Says) -> None:
    asked = says("scontrol", "node3\nnode4\nnode7")
    assert keep_nodes(3) == ["node3", "node4", "node7"]
    assert "update" not in asked.read_text()
    assert keep_nodes(2) == ["node3", "node4"]
    assert asked.read_text().splitlines()[-1] == "update JobId=7 NumNodes=2"


@pytest.mark.usefixtures("job", "cluster")
def test_their_order_is_that_of_slurms_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[1-3]")
    hosts = tmp_path / "hosts"
    monkeypatch.setenv("SLURM_HOSTFILE", str(hosts))
    hosts.write_text("n3,n1\nn9\nn2\n")
    assert keep_nodes(3) == ["n1", "n2", "n3"]  # it holds for the arbitrary distribution alone
    monkeypatch.setenv("SLURM_DISTRIBUTION", "arbitrary")
    assert keep_nodes(3) == ["n3", "n1", "n2"]
    assert keep_nodes(2) == ["n1", "n2"]  # those that Slurm keeps
    hosts.unlink()
    assert keep_nodes(3) == ["n1", "n2", "n3"]


def test_the_nodes_of_the_job(says: Says, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[01-02,7]")
    given = says("scontrol", "n01\nn02\nn7")
    assert keep_nodes(3) == ["n01", "n02", "n7"]
    assert given.read_text() == "show hostnames n[01-02,7]\n"


def test_nodes_that_slurm_does_not_name(says: Says) -> None:
    says("scontrol", "slurm_load_jobs error", 1)
    with pytest.raises(DispatchError, match="does not name the nodes"):
        keep_nodes(1)


OFFERS = """\
cpu 8 (null)
train* 96 (null)
train* 64 gpu:h100:8(S:0-1)
train* 128 gpu:h100:8"""


@pytest.mark.parametrize(
    ("profile", "asked", "cpus"),
    [
        (RunnerProfile("slurm"), "", 64),  # of the default partition
        (RunnerProfile("slurm", gpus_per_node=8), "", 64),
        (RunnerProfile("slurm", partition="cpu"), " --partition=cpu", 8),
        (RunnerProfile("slurm", options={"nodelist": "n[1-3]"}), " --nodes=n[1-3]", 64),
    ],
)
def test_what_slurm_says_of_the_nodes_that_a_job_may_get(
    says: Says, profile: RunnerProfile, asked: str, cpus: int
) -> None:
    given = says("sinfo", "Welcome\n" + OFFERS)
    assert fewest_cpus(profile) == cpus
    assert given.read_text().startswith(f"--noheader --Node --format=%P %c %G{asked}\n")


def test_the_cpus_of_nodes_without_gpus_do_not_count_for_a_job_with_gpus(says: Says) -> None:
    says("sinfo", "train* 16 (null)\ntrain* 64 gpu:8\ntrain* 96 gpu:8")
    assert fewest_cpus(RunnerProfile("slurm", gpus_per_node=8)) == 64
    assert fewest_cpus(RunnerProfile("slurm")) == 16


def test_slurm_may_know_no_gpus_or_say_nothing(says: Says, monkeypatch: pytest.MonkeyPatch) -> None:
    says("sinfo", "train* 64 (null)")
    wants = RunnerProfile("slurm", gpus_per_node=8)
    assert fewest_cpus(wants) == 64
    monkeypatch.setenv("PATH", "/nowhere")
    assert fewest_cpus(wants) is None


@pytest.mark.usefixtures("job")
@pytest.mark.parametrize(("first", "has_it"), [("n1", True), ("n0", False)])
def test_whether_the_coordinators_node_is_still_in_the_job(
    says: Says, first: str, has_it: bool
) -> None:
    asked = says("scontrol", "").with_name("scontrol")
    record = f"BatchHost={first} NodeList=n1,n2"
    asked.write_text(f'#!/bin/sh\ncase "$2" in show) echo {record};; *) echo n1; echo n2;; esac\n')
    assert has_first_node() == has_it


def test_the_nodes_for_which_a_job_would_wait_for_ever(says: Says) -> None:
    told = """n1 idle none
n2 down* Not responding
n2 down* Not responding
n3 drained bad GPU 3
n4 idle* none
n5 allocated none
n6 mixed~ none
n7 maint planned work
n8 draining Kill task failed"""
    says("sinfo", told)
    profile, absent = without_absent(listed("n[1-8]"))
    assert profile == listed("n[1,5-7]")
    assert absent == {
        "n2": "Slurm has it as down (Not responding)",
        "n3": "Slurm has it as drained (bad GPU 3)",
        "n4": "Slurm has it as idle, which does not respond",
        "n8": "Slurm has it as draining (Kill task failed)",
    }
    says("sinfo", "n2 down* x\nn3 drained x")
    with pytest.raises(DispatchError, match=r"n\[2-3\]: none of these nodes can be used: Slurm"):
        without_absent(listed("n[2-3]"))


@pytest.mark.parametrize("said", ["", "n1 idle none\nn2 mixed none\nn3 allocated none"])
def test_no_node_is_left_out_where_all_can_come_or_slurm_does_not_say(
    says: Says, said: str
) -> None:
    says("sinfo", said)
    for profile in (listed("n[1-3]"), RunnerProfile("slurm")):
        assert without_absent(profile) == (profile, {})
