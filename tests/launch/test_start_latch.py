"""The script itself, with the two ends that a supervisor would hold."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from milabench_ddp.launch import start_latch

SCRIPT = start_latch.__file__


class Latched:
    """A process at the latch."""

    def __init__(self, *program: str, env: Mapping[str, str] | None = None) -> None:
        read, self.release = os.pipe()
        self.report, write = os.pipe()
        lc_ctype = (os.environ if env is None else env).get("LC_CTYPE", "")
        latch = [sys.executable, "-I", "-S", SCRIPT, str(read), str(write), lc_ctype]
        self.popen = subprocess.Popen(
            [*latch, *program], pass_fds=(read, write), stdout=subprocess.PIPE, env=env
        )
        os.close(read)
        os.close(write)
        assert os.read(self.report, 1) == b"."

    def start(self, moment: int | None = None) -> tuple[bytes, str]:
        """Release it; its report to the end, and what the program printed."""
        os.write(self.release, b"%020d" % (time.monotonic_ns() if moment is None else moment))
        report = b""
        while chunk := os.read(self.report, 100):
            report += chunk
        return report, self.popen.communicate()[0].decode()

    def close(self) -> None:
        with self.popen:  # closes its pipe
            self.popen.kill()
        for fd in (self.release, self.report):
            os.close(fd)


@pytest.fixture
def echo() -> Iterator[Latched]:
    it = Latched("echo", "a b", "")
    yield it
    it.close()


def test_the_program_starts_at_the_moment_of_the_release_and_not_before(echo: Latched):
    os.set_blocking(echo.report, False)
    with pytest.raises(BlockingIOError):  # it waits
        os.read(echo.report, 1)
    os.set_blocking(echo.report, True)
    moment = time.monotonic_ns() + 50_000_000
    report, printed = echo.start(moment)
    assert int(report) >= moment
    assert printed == "a b \n"


def test_it_ends_without_the_program_when_the_supervisor_is_gone(echo: Latched):
    os.close(echo.release)
    echo.release = os.open(os.devnull, os.O_RDONLY)
    assert os.read(echo.report, 1) == b""
    printed, _ = echo.popen.communicate()
    assert (echo.popen.returncode, printed) == (1, b"")


def test_a_program_that_cannot_be_executed_is_reported(tmp_path: Path):
    it = Latched(str(tmp_path / "missing"))
    report, _ = it.start()
    stamp, _, code = report.partition(b"!")
    assert int(stamp) > 0
    assert os.strerror(int(code)) == "No such file or directory"
    assert it.popen.returncode == 127
    it.close()


def test_the_program_has_the_environment_and_the_signals_of_a_shell():
    text = (
        "import os, signal; print('LC_CTYPE' in os.environ, "
        "signal.getsignal(signal.SIGUSR2) is signal.SIG_IGN)"
    )
    # The options keep the Python of the program itself from setting LC_CTYPE.
    program = (sys.executable, "-X", "utf8=0", "-c", text)
    env = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    for extra, expected in (({}, "False False\n"), ({"SLURM_JOB_ID": "1"}, "False True\n")):
        it = Latched(*program, env={**env, **extra})
        assert it.start()[1] == expected
        it.close()
    it = Latched("/bin/sh", "-c", "kill -PIPE $$", env={})
    it.start()
    assert it.popen.returncode == -13  # SIGPIPE is not ignored
    it.close()
