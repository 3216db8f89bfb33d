"""``milabench``, and ``python -m milabench_ddp``: the command line in a process of its own."""

# `signal` takes 5 ms to load, in which Ctrl-C would show a traceback
import _signal  # type: ignore[import-not-found]
import gc
import os
import sys

_OBJECTS = 50_000  # that are made and kept between two searches for garbage; by default 700

TYPE_CHECKING = False  # `typing` takes long to load
if TYPE_CHECKING:
    from typing import NoReturn

if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, lambda *_: os._exit(130))


def main() -> "NoReturn":
    """Run the command line, and end with its exit code; no signal shows a traceback."""
    from .cli import asks_for_help
    from .cli import main as run

    if asks_for_help(sys.argv[1:]):
        sys.exit(run())
    from .interrupts import (
        INTERRUPTED,
        EndedBySignal,
        ignore_signals,
        leave,
        leave_at_ctrl_c,
        raise_at_signals,
    )

    gc.set_threshold(_OBJECTS)  # starting leaves no garbage, and the searches would be 5 % of it
    leave_at_ctrl_c()
    try:
        code = run(begin=raise_at_signals)
        ignore_signals()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except EndedBySignal as ended:
        code = ended.exit_code
    leave(code)


if __name__ == "__main__":
    main()
