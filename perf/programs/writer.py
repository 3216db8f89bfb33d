"""Writes prepared lines as fast as they are read: as metrics, or to standard output.

Where there is a start barrier, all writers begin together. Each leaves the time of its beginning.
"""

import os
import signal
import sys
import time
from pathlib import Path

CHUNK = 1 << 16


def main() -> None:
    """``writer.py metrics|stdout LINES TIMES STAMPS``: the file LINES, so many times."""
    kind, prepared, times, stamps = sys.argv[1:]
    lines = memoryview(Path(prepared).read_bytes())
    path = os.environ.get("MILABENCH_METRICS")
    channel = os.open(path, os.O_WRONLY) if path else int(os.environ["DATA_FD"])
    start = os.environ.get("MILABENCH_START")
    barrier = os.open(start, os.O_RDONLY) if start else -1  # before it says anything
    os.write(channel, b'{"task": "train", "rate": 1.0, "units": "items/s"}\n')
    if start:
        os.write(channel, b'{"$event": "ready", "$data": {}}\n')
        os.read(barrier, 1)  # until the supervisor closes it
    Path(stamps, str(os.getpid())).write_text(repr(time.time()))
    out = channel if kind == "metrics" else 1
    for _ in range(int(times)):
        for at in range(0, len(lines), CHUNK):
            chunk = lines[at : at + CHUNK]
            while chunk:
                chunk = chunk[os.write(out, chunk) :]
    if not path:
        signal.pause()  # voir's multiplexer fails when one program has ended before the others


if __name__ == "__main__":
    main()
