"""Shows the supervisor where each thread of this process is, when it asks because a rank hangs.

The supervisor names a folder in ``MILABENCH_STACKS``. A process that has a file there, named by
its pid, writes the stacks of its threads into it at ``SIGNAL``: in C, so whatever it does. A rank
that a missing peer made fail writes where it waited for that peer, and stays until the supervisor
has looked: once it ends, torchrun ends the others. It ends those on other nodes before a supervisor
there knows, so a rank also shows its stacks when SIGTERM ends it.
"""

import faulthandler
import os
import re
import signal
import time
import traceback
from pathlib import Path

STACKS = "MILABENCH_STACKS"
DONE = "done"  # the file that the supervisor makes once it has looked
SIGNAL = signal.SIGRTMIN + 10  # as in milabench_ddp/launch/stacks.py; no library is known to use it
PATIENCE = 3.0  # seconds for the supervisor to look
_OF_A_PEER = re.compile(r"tim(?:ed|e)[ -]?out|connection (?:was )?(?:closed|reset)|\bpeer\b", re.I)


def show_on_signal() -> None:
    """From now on show the stacks at ``SIGNAL``, and at the end, if a supervisor wants them."""
    if not os.environ.get(STACKS):
        return
    faulthandler.register(SIGNAL, _own_file().open("a"), all_threads=True)
    if rank := os.environ.get("RANK"):
        at_end = _own_file().with_suffix(f".{rank}.sigterm")
        faulthandler.register(signal.SIGTERM, at_end.open("a"), all_threads=True, chain=True)


def show_failure(error: BaseException) -> None:
    """After the error of a missing peer, show where this rank waited, in place of where it is."""
    if not os.environ.get(STACKS) or not _is_of_a_peer(error):
        return
    if not faulthandler.unregister(SIGNAL):
        return  # it is told already
    lines = ["Thread 0x0 (most recent call first):"]
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        lines.append(f'  File "{frame.filename}", line {frame.lineno} in {frame.name}')
    with _own_file().open("a") as file:
        file.write("\n".join([*lines, ""]))


def wait_for_look(error: BaseException) -> None:
    """After the error of a missing peer, wait until the supervisor has looked, or does not."""
    folder = os.environ.get(STACKS)
    if not folder or not _is_of_a_peer(error):
        return
    deadline = time.monotonic() + PATIENCE
    while not Path(folder, DONE).exists() and time.monotonic() < deadline:
        time.sleep(0.01)


def _own_file() -> Path:
    return Path(os.environ[STACKS], str(os.getpid()))


def _is_of_a_peer(error: BaseException) -> bool:
    return isinstance(error, RuntimeError) and bool(_OF_A_PEER.search(str(error)))
