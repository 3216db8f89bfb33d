"""Wait at the gate, then become the program. A script of its own: standard library alone.

Processes that are started one after another begin at different times, the more so when the first
ones are already busy. So each waits here, is told when the gate opens, and sleeps until then.

    python -I -S gate.py GO TELL LC_CTYPE-was-set program arguments...

``GO`` is a descriptor to read that from: 20 digits, ns on the monotonic clock; at its end of file
the supervisor is gone.
``TELL`` gets a dot once it waits; the monotonic time in ns, just before it becomes the program;
and ``!`` with the error number where it cannot. If the supervisor is killed, it gets a SIGTERM.
"""

import ctypes
import os
import signal
import sys
import time

PR_SET_PDEATHSIG = 1


def main(argv: list[str]) -> None:
    """Wait, then execute; never returns."""
    go, tell, had_ctype = int(argv[1]), int(argv[2]), argv[3] == "1"
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if not had_ctype:
        # Python itself sets it in the C locale (PEP 538): the program shall not inherit that.
        os.environ.pop("LC_CTYPE", None)
    os.write(tell, b".")
    moment = os.read(go, 20)
    if not moment:
        os._exit(1)
    os.close(go)
    os.set_inheritable(tell, False)
    # Python ignores it, and what is ignored stays so in the program.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    if "SLURM_JOB_ID" in os.environ:
        # With it Slurm warns every process of a job, which would die of it, before the time limit.
        signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    time.sleep(max(0, int(moment) - time.monotonic_ns()) / 1e9)
    os.write(tell, b"%d" % time.monotonic_ns())
    try:
        os.execvp(argv[4], argv[4:])
    except OSError as error:
        os.write(tell, b"!%d" % (error.errno or 0))
        os._exit(127)


if __name__ == "__main__":
    main(sys.argv)
