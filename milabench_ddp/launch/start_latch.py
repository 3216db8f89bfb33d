"""Wait for the release, then execute the program. A script that only needs the standard library.

Processes that are started one after another begin their work at different times, even more so when
the first ones are already busy. So each process runs this script first. The script reports that it
waits, reads the moment of the release, and sleeps until then.

    python -I -S start_latch.py RELEASE REPORT LC_CTYPE program arguments...

``RELEASE`` is a descriptor to read the moment from: 20 digits, ns on the monotonic clock. If the
supervisor is gone, it ends without them.
``REPORT`` is a descriptor to write to: a dot once this process waits; the monotonic time in ns,
just before it executes the program; and ``!`` with the error number if that fails.
``LC_CTYPE`` is the value that the program gets; empty if it is not set.
If the supervisor is killed, this process and the program get a SIGTERM.
"""

import ctypes
import errno
import os
import signal
import sys
import time

PR_SET_PDEATHSIG = 1


def main(argv: list[str]) -> None:
    """Wait, then execute the program; never returns."""
    release, report = map(int, argv[1:3])
    lc_ctype, *program = argv[3:]
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    # In the C locale Python sets LC_CTYPE for itself (PEP 538): the program must not inherit it.
    os.environ.pop("LC_CTYPE", None)
    if lc_ctype:
        os.environ["LC_CTYPE"] = lc_ctype
    os.write(report, b".")
    moment = os.read(release, 20)
    if not moment:
        os._exit(1)
    os.close(release)
    os.set_inheritable(report, False)
    # Python ignores these, and the program would inherit that.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    if "SLURM_JOB_ID" in os.environ:
        # Before the time limit Slurm sends it to every process of a job; it would end the program.
        signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    time.sleep(max(0, int(moment) - time.monotonic_ns()) / 1e9)
    os.write(report, b"%d" % time.monotonic_ns())
    try:
        os.execvp(program[0], program)
    except OSError as error:
        os.write(report, b"!%d" % (error.errno or errno.EIO))
        os._exit(127)


if __name__ == "__main__":
    main(sys.argv)
