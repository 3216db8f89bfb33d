"""A run that goes on in one terminal, watched in another."""

import signal
import subprocess
from collections.abc import Iterator

import pytest

from tests.support.wait import PATIENCE, wait_for
from tests.support.workplace import EMIT, GOOD, Suite, Workplace, row

HELD = (
    EMIT
    + """
import pathlib
while not pathlib.Path("open").exists():
    rate(100.0)
    time.sleep(0.05)
"""
)
WORDS = ("--gpus", "1", "--device", "cpu", "--name", "mine")


@pytest.fixture
def run(at: Workplace, suite: Suite) -> Iterator["subprocess.Popen[str]"]:
    """One that has come to a program which waits for a file ``open``."""
    words = ("run", suite(first=GOOD, held=HELD, last=GOOD), *WORDS)
    with at.start(*words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as popen:
        data = at.run() / "held.D0.data"
        wait_for(lambda: data.exists() and '"rate"' in data.read_text())
        yield popen
        popen.kill()


def test_from_the_midst_to_the_end(at: Workplace, run: "subprocess.Popen[str]"):
    with at.start("watch", str(at.run())) as watch:
        assert watch.stderr is not None
        said = [watch.stderr.readline() for _ in range(2)]
        (at.folder / "open").touch()
        out, rest = watch.communicate(timeout=PATIENCE)
    assert (watch.returncode, run.wait(PATIENCE)) == (0, 0)
    lines = [line.split(" ", 1)[1].strip() for line in [*said, *rest.splitlines()]]
    assert lines[0] == "first: ok"
    assert lines[1].startswith("held: on ")
    assert lines[1].endswith(", at most 600 s")
    assert lines[2].startswith("held: ok in ")
    assert lines[-1].startswith("last: ok")
    assert row(out, "held")[1:3] == ["0", "1"]
    again = at.milabench("watch", str(at.run()))
    assert (again.code, again.out) == (0, out)


def test_ctrl_c_ends_the_watching_alone(at: Workplace, run: "subprocess.Popen[str]"):
    with at.start("watch", str(at.run())) as watch:
        assert watch.stderr is not None
        watch.stderr.readline()
        watch.send_signal(signal.SIGINT)
        _, err = watch.communicate(timeout=PATIENCE)
    assert watch.returncode == 130
    assert "no longer watched; the run goes on" in err
    assert run.poll() is None
    (at.folder / "open").touch()
    assert run.wait(PATIENCE) == 0


def test_a_run_that_is_killed(at: Workplace, run: "subprocess.Popen[str]"):
    with at.start("watch", str(at.run())) as watch:
        assert watch.stderr is not None
        said = [watch.stderr.readline() for _ in range(2)]
        run.kill()
        out, err = watch.communicate(timeout=PATIENCE)
    assert "first: ok" in said[0]
    assert watch.returncode == 1
    assert "held: lost" in err
    assert "the run was cut off" in err
    assert any(line.startswith("Run ") and ": lost, " in line for line in out.splitlines())


def test_there_is_no_run(at: Workplace):
    done = at.milabench("watch", str(at.folder / "nowhere"))
    assert (done.code, "no run folder" in done.err) == (2, True)
