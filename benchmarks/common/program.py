"""The start and the end of a program as a process."""

import atexit
import os
import sys
from collections.abc import Callable


def run(main: Callable[[], None]) -> None:
    """Run a program's ``main``, and end the process without the finalization of Python.

    gloo's threads outlive the process group (DDP's reducer holds on to it). One that lets go of a
    tensor while Python finalizes wants the lock of an interpreter that gives it to no thread any
    more, and ends the process with SIGABRT, after all has been measured:
    https://github.com/pytorch/pytorch/issues/117762. What ``atexit`` has is done before. An error
    takes the usual way out, and so does a program that voir runs in its own process.
    """
    main()
    if "voir" in sys.modules:
        return
    atexit._run_exitfuncs()  # such as the end of a loader's workers; multiprocessing's as well
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
