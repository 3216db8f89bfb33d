"""The least spread of a start: processes that are there already sleep until one moment."""

import os
import sys
import time


def main() -> None:
    """``bare_start.py COUNT COMMAND...``; prints the milliseconds between the first and the last.

    As the command's start takes time of the cores, it also delays those that start after it.
    """
    count, command = int(sys.argv[1]), sys.argv[2:]
    moment = time.monotonic_ns() + 2_000_000 * count + 50_000_000
    reading, writing = os.pipe()
    for _ in range(count):
        if not os.fork():
            time.sleep(max(0, moment - time.monotonic_ns()) / 1e9)
            os.write(writing, b"%020d" % time.monotonic_ns())
            os.execvp(command[0], command)
    os.close(writing)
    times = []
    while stamp := os.read(reading, 20):
        times.append(int(stamp))
    print((max(times) - min(times)) / 1e6)


if __name__ == "__main__":
    main()
