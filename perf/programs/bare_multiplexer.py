"""The least that a harness does: reads what programs write, and appends it to a file for each.

No line is looked at. One thread, one selector, reads of 64 KiB, as fast as Python can.
"""

import fcntl
import os
import selectors
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

CHUNK = 1 << 16
CAPACITY = 1 << 20


def main() -> None:
    """``bare_multiplexer.py COUNT FOLDER COMMAND...``: so many processes of the command.

    What each writes to its metrics channel goes to FOLDER/<number>.data, its output to
    FOLDER/<number>.stdout.
    """
    count, folder = int(sys.argv[1]), Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as pipes:
        multiplex(count, folder, sys.argv[3:], Path(pipes))


def multiplex(count: int, folder: Path, command: list[str], pipes: Path) -> None:
    """Start the processes, and pass on what they write until they have ended."""
    start = pipes / "start"
    os.mkfifo(start)
    barrier = os.open(start, os.O_RDWR)
    selector, ready, programs = selectors.DefaultSelector(), set(), []
    for number in range(count):
        path = pipes / str(number)
        os.mkfifo(path)
        fd = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        with suppress(PermissionError):
            fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, CAPACITY)
        env = {**os.environ, "MILABENCH_METRICS": str(path), "MILABENCH_START": str(start)}
        program = subprocess.Popen(command, env=env, stdout=subprocess.PIPE)
        programs.append(program)
        assert program.stdout is not None
        os.set_blocking(program.stdout.fileno(), False)
        for source, suffix in ((fd, "data"), (program.stdout.fileno(), "stdout")):
            out = os.open(folder / f"{number}.{suffix}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            selector.register(source, selectors.EVENT_READ, out)
        selector.register(os.pidfd_open(program.pid), selectors.EVENT_READ, None)
    alive = count
    while alive:
        for key, _ in selector.select():
            if key.data is None:
                alive -= 1
                selector.unregister(key.fd)
            elif not _pass_on(key.fd, key.data):
                selector.unregister(key.fd)
            elif barrier >= 0 and key.fd not in ready:
                ready.add(key.fd)  # its first line says that it is ready
                if len(ready) == count:
                    os.close(barrier)
                    barrier = -1
    for key in list(selector.get_map().values()):
        with suppress(BlockingIOError):
            while _pass_on(key.fd, key.data):
                pass
    for program in programs:
        program.wait()


def _pass_on(source: int, out: int) -> bool:
    """Pass on what can be read; false at the end."""
    chunk = os.read(source, CHUNK)
    if chunk:
        os.write(out, chunk)
    return bool(chunk)


if __name__ == "__main__":
    main()
