"""The keeper of a launch: starts its programs together, and ends all processes that they leave.

It stands between the supervisor and the programs, and adopts every orphan below it, so that every
process of a launch can be found by its ancestry::

    supervisor
      keeper of the launch          waits until the supervisor is gone, or done; then ends the rest
        keeper of a process         for each: obeys the supervisor, and ends what the program leaves
          program

If the supervisor is killed, both kinds of keepers see it, and leave no process and no temporary
folder. If a keeper is killed, the one above adopts its orphans, and the program gets a SIGTERM.

Programs that are started one after another begin their work at different times, even more so when
the first ones are already busy. So each waits at the start latch: it reports that it waits, reads
the moment of the release, and sleeps until then.

Only modules that load fast are imported: Python's start is most of what a launch costs.
"""

import ctypes
import errno
import marshal
import os
import select
import signal
import time
from collections.abc import Sequence
from contextlib import suppress

from .reap import ignore_gone, kill_family

# What the supervisor sends. When it closes its end, all is killed.
TERMINATE = b"t"  # SIGTERM to the program's process group
KILL = b"k"  # SIGKILL to all that it has started
# The first byte of what it receives. The end, ``returncode pid...``, begins with neither: the pids
# are those that SIGKILL did not end, and the code is empty if the program itself is among them.
WAITS = b"."  # at the latch: ``.keeper program``, two pids
EXECUTED = b"="  # ``=monotonic ns``, just before; then ``!errno`` if it could not be executed

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
_prctl = ctypes.CDLL(None).prctl
Program = tuple[list[bytes], dict[bytes, bytes]]  # its command line and its whole environment


def main(argv: Sequence[str]) -> None:
    """Keep the programs that standard input describes; never returns.

    Args:
        argv: the folder to remove at the end, if it is still there; then descriptors. The pipe
            that the supervisor holds open, the pipe of the release, and for each program its socket
            to the supervisor, and the writing ends of its standard output and standard error.
    """
    folder = argv[1]
    life, release, *rest = map(int, argv[2:])
    for fd in (life, release, *rest):
        os.set_inheritable(fd, False)
    # Slurm signals every process of a job, and means only the programs.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    for program in marshal.loads(os.pread(0, os.fstat(0).st_size, 0)):
        (control, stdout, stderr), rest = rest[:3], rest[3:]
        try:
            if os.fork() == 0:
                try:
                    for fd in (life, *rest):
                        os.close(fd)
                    _ProcessKeeper(control, stdout, stderr, release).keep(program, mask)
                finally:
                    os._exit(1)
        except OSError as error:
            os.write(control, EXECUTED + b"!%d" % (error.errno or errno.EAGAIN))
        for fd in (control, stdout, stderr):
            os.close(fd)
    os.close(release)
    _leave_streams()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no orphan becomes a zombie
    os.read(life, 1)
    if _has_children():
        kill_family(os.getpid(), _has_children)
    if os.path.lexists(folder):
        with suppress(OSError):  # Python's rmtree fails at a thousand nested folders
            os.execvpe("rm", ["rm", "-rf", "--", folder], {"PATH": os.defpath})
    os._exit(0)


class _ProcessKeeper:
    """Keeps one program, in a process of its own."""

    def __init__(self, control: int, stdout: int, stderr: int, release: int) -> None:
        self._control, self._stdout, self._stderr = control, stdout, stderr
        self._release = release
        self._pid = 0  # of the program
        self._status: int | None = None  # of the program, once it has ended
        self._stuck: set[int] = set()  # what SIGKILL does not end

    def keep(self, program: Program, mask: set[int | signal.Signals]) -> None:
        """Start the program, obey until it has ended, end what it leaves, and report; then exit."""
        _prctl(PR_SET_CHILD_SUBREAPER, 1)
        woken, wakes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
        executed, executes = os.pipe()
        self._pid = self._fork()
        if self._pid == 0:
            try:
                self._execute(program, executes, mask)
            finally:
                os._exit(127)
        for fd in (executes, self._stdout, self._stderr, self._release):
            os.close(fd)
        _leave_streams()
        with open(executed, "rb") as report:
            self._tell(EXECUTED + report.read())
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        while self._status is None and not self._stuck:
            ready, _, _ = select.select([self._control, woken], [], [])
            if woken in ready:
                os.read(woken, 1 << 12)
            if self._control in ready:
                if os.read(self._control, 1) == TERMINATE:
                    # It is not reaped yet, so the number still means its group.
                    ignore_gone(os.killpg, self._pid, signal.SIGTERM)
                else:
                    self._kill()
            self._reap()
        if not self._stuck and self._reap():
            self._kill()
        code = b"" if self._status is None else b"%d" % os.waitstatus_to_exitcode(self._status)
        self._tell(b" ".join([code, *(b"%d" % pid for pid in self._stuck)]))
        os._exit(0)

    def _fork(self) -> int:
        try:
            return os.fork()
        except OSError as error:
            self._tell(EXECUTED + b"!%d" % (error.errno or errno.EAGAIN))
            os._exit(1)

    def _execute(self, program: Program, executes: int, mask: set[int | signal.Signals]) -> None:
        """Wait at the latch, then become the program; returns if that fails."""
        _prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        os.setsid()  # only the supervisor gets the terminal's Ctrl-C
        null = os.open(os.devnull, os.O_RDONLY)
        for fd, standard in ((null, 0), (self._stdout, 1), (self._stderr, 2)):
            os.dup2(fd, standard)
        argv, env = program
        # Python ignores these, and the program would inherit that.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        if b"SLURM_JOB_ID" in env:
            # Before the time limit Slurm sends it to every process of a job; it would end it.
            signal.signal(signal.SIGUSR2, signal.SIG_IGN)
        signal.set_wakeup_fd(-1)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        self._tell(WAITS + b"%d %d" % (os.getppid(), os.getpid()))
        moment = os.read(self._release, 20)
        if not moment:
            return
        time.sleep(max(0, int(moment) - time.monotonic_ns()) / 1e9)
        os.write(executes, b"%d" % time.monotonic_ns())
        try:
            os.execvpe(argv[0], argv, env)
        except OSError as error:
            os.write(executes, b"!%d" % (error.errno or errno.EIO))
        except ValueError:  # a null byte in a word, or `=` in the name of a variable
            os.write(executes, b"!%d" % errno.EINVAL)

    def _kill(self) -> None:
        self._stuck = kill_family(os.getpid(), self._reap)

    def _reap(self) -> bool:
        """Read the exit status of each child that has ended; whether any is left."""
        try:
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                if found[0] == self._pid:
                    self._status = found[1]
        except ChildProcessError:
            return False
        return True

    def _tell(self, message: bytes) -> None:
        with suppress(OSError):  # the supervisor is gone
            os.write(self._control, message)


def _has_children() -> bool:
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return True


def _leave_streams() -> None:
    """Let go of the standard streams, so that their readers see the end."""
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    os.close(null)
