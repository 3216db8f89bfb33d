"""Checks of folders, of a Slurm that is a script, and of hosts behind an ssh that is one."""

import os
import shutil
import sys
from collections import namedtuple
from pathlib import Path

import pytest

from milabench_ddp.config.runner_profile import RunnerProfile
from milabench_ddp.config.system import SystemNode
from milabench_ddp.doctor import place_checks
from milabench_ddp.doctor.diagnosis import Diagnosis, State
from tests.doctor.conftest import Plant
from tests.support.wait import PATIENCE

FREE = namedtuple("FREE", ["free"])


def test_a_folder_and_one_that_a_run_will_make(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: FREE(5 << 30))
    for base in (tmp_path, tmp_path / "new" / "base"):
        (found,) = place_checks.folder(base)
        assert found == Diagnosis(State.OK, f"{base} can be written; 5 GiB are free")
    assert not list(tmp_path.iterdir())  # nothing is left behind


def test_little_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: FREE((5 << 30) - 1))
    (found,) = place_checks.folder(tmp_path)
    assert (found.state, "4 GiB" in found.found) == (State.WARNING, True)


def test_a_folder_that_cannot_be_written() -> None:
    (found,) = place_checks.folder(Path("/proc/base"))
    assert found.state == State.ERROR
    assert found.found.startswith("/proc cannot be written: ")


SINFO = 'case "$*" in *--Node*) printf "n1=idle\\nn2=idle\\nn1=idle\\nn3=down*\\n";; esac'


def test_a_slurm_that_answers(plant: Plant) -> None:
    plant(sinfo=SINFO)
    (found,) = place_checks.slurm(is_asked=True, limit=PATIENCE)
    said = "nodes: 2 idle, 1 down*"
    assert found == Diagnosis(State.OK, said)


@pytest.mark.parametrize("is_asked", [True, False])
@pytest.mark.parametrize("sinfo", ["exit 1", "exec sleep 60"])
def test_a_slurm_that_fails_or_hangs(plant: Plant, sinfo: str, is_asked: bool) -> None:
    plant(sinfo=sinfo)
    (found,) = place_checks.slurm(is_asked, 0.6)
    assert found.state == (State.ERROR if is_asked else State.WARNING)
    assert found.found.startswith("`sinfo`")


def test_no_slurm(plant: Plant) -> None:
    if shutil.which("sinfo"):
        pytest.skip("there is a Slurm here")
    assert [each.state for each in place_checks.slurm(is_asked=True, limit=1)] == [State.ERROR]
    assert [each.state for each in place_checks.slurm(is_asked=False, limit=1)] == [State.OK]


# Runs the word after the host here; one host refuses, one hangs, and one sees another folder.
SSH = """\
for word; do
  case $1 in -o | -p | -i) shift 2 ;; -T) shift ;; --) shift; break ;; esac
done
case $1 in
  refuses) echo "ssh: connect to host $1 port 22: Connection refused" >&2; exit 255 ;;
  hangs) exec sleep 60 ;;
  alone) shift; exec sh -c "test() { false; }; $*" ;;
esac
shift
exec sh -c "$*"
"""


def reached(base: Path, *names: str, limit: float = PATIENCE, **given: object) -> list[Diagnosis]:
    runner = RunnerProfile("ssh", **given)  # type: ignore[arg-type]
    nodes = [SystemNode(name, name) for name in names]
    found = list(place_checks.hosts(nodes, None, base, runner, limit))
    assert [each.name for each in base.iterdir()] == ["bin"]  # nothing is left behind
    return found


def test_hosts_that_can_be_used(plant: Plant, tmp_path: Path) -> None:
    plant(ssh=SSH)
    said = f"2 hosts answer, and see {tmp_path} and {sys.executable}"
    assert reached(tmp_path, "one", "two") == [Diagnosis(State.OK, said)]


def test_hosts_that_cannot(plant: Plant, tmp_path: Path) -> None:
    plant(ssh=SSH)
    refused, lost = reached(tmp_path, "one", "refuses", "alone")
    assert (refused.state, lost.state) == (State.ERROR, State.ERROR)
    assert refused.found.startswith("refuses: exit status 255: ssh: connect to host refuses")
    assert refused.advice.endswith(" -- refuses true")
    assert lost.found == f"alone: exit status 1: {tmp_path} is another folder there, or not there"


def test_a_host_that_hangs(plant: Plant, tmp_path: Path) -> None:
    plant(ssh=SSH)
    (found,) = reached(tmp_path, "hangs", limit=0.3)
    assert found.found == "hangs: it does not answer in 0.3 s"


def test_a_setup_that_fails_and_a_python_that_is_not_there(
    plant: Plant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(ssh=SSH)
    (found,) = reached(tmp_path, "n10", "n9", setup=("false",))
    assert found.found == "2 nodes (n[9-10]): exit status 1: the setup command failed: false"
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    (found,) = reached(tmp_path, "one")
    assert found.found.startswith("one: exit status 127: ")
    assert "/nowhere/python" in found.found


def test_a_host_that_is_this_one_needs_no_ssh(plant: Plant, tmp_path: Path) -> None:
    plant(ssh="exit 255")
    (found,) = reached(tmp_path, os.uname().nodename)
    assert found.state == State.OK
