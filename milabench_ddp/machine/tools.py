"""What tools of this host say, all asked at once: one that hangs holds up neither us nor others."""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress

from msgspec import Struct

MOST = 1 << 20  # bytes of what one says
_END = 1.0  # seconds for those to end that were killed; the driver may hold them for ever
_NOT_FOUND = 127  # of a shell


Started = subprocess.Popen[bytes]


class Answer(Struct, frozen=True):
    """What a tool said, and why that is not all of it; empty if it is."""

    text: str
    lacks: str = ""


def answers(commands: Mapping[str, str], seconds: float) -> dict[str, Answer]:
    """What each command of a shell says on both of its streams, by the same names.

    Returns after ``seconds`` and a second more at the latest.
    """
    found = {}
    with ExitStack() as stack:
        asked = {}
        for name, command in commands.items():
            file = stack.enter_context(tempfile.TemporaryFile())
            # it writes into a file, so that what it has said is there when it is ended
            shell = f"ulimit -c 0 -f {MOST >> 10}; {command}"
            asked[name] = file, subprocess.Popen(
                ["bash", "-c", shell], stdin=subprocess.DEVNULL, stdout=file,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        late = _wait([popen for _, popen in asked.values()], seconds)
        for popen in late:
            os.killpg(popen.pid, signal.SIGKILL)
        _wait(late, _END)
        for name, (file, popen) in asked.items():
            file.seek(0)
            text = file.read(MOST)
            lacks = ""
            if popen in late:
                lacks = f"did not end within {seconds:g} s"
            elif popen.returncode and len(text) == MOST:
                lacks = f"said more than {MOST >> 20} MiB"
            elif popen.returncode == _NOT_FOUND:
                text = text.rpartition(b"line 1: ")[2]  # a shell says what it has not found
                lacks = text.decode(errors="replace").strip()
                text = b""
            elif popen.returncode:
                lacks = f"ended with {popen.returncode}"
            found[name] = Answer(text.decode(errors="replace"), lacks)
    return found


def _wait(asked: Sequence[Started], seconds: float) -> list[Started]:
    """Wait for these to end; returns those that have not."""
    deadline = time.monotonic() + seconds
    for popen in asked:
        with suppress(subprocess.TimeoutExpired):
            popen.wait(max(0.0, deadline - time.monotonic()))
    return [popen for popen in asked if popen.poll() is None]
