import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

from milabench_ddp.dispatch import processes
from tests.support.wait import wait_for

SLEEPS = [sys.executable, "-c", "import time; time.sleep(100)"]


@pytest.fixture
def job() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that looks like one of submitit's."""
    with subprocess.Popen([*SLEEPS, "submitit"]) as popen:
        yield popen
        popen.kill()


def test_jobs_that_are_there_and_jobs_that_are_gone(job: "subprocess.Popen[bytes]") -> None:
    ids = [str(job.pid), "99999999", "DEBUG_1"]
    wait_for(lambda: not processes.states(ids)[ids[0]].has_ended)  # it says what it is
    assert [state.has_ended for state in processes.states(ids).values()] == [False, True, True]
    assert processes.cancel(ids)
    assert job.wait(10) == -signal.SIGTERM
    assert processes.states(ids)[ids[0]].has_ended


def test_a_pid_that_is_somebody_elses_by_now() -> None:
    with subprocess.Popen(SLEEPS) as other:
        assert processes.states([str(other.pid)])[str(other.pid)].has_ended
        assert processes.cancel([str(other.pid)])
        other.kill()
        assert other.wait(10) == -signal.SIGKILL
