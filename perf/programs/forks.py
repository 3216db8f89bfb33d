"""Leaves processes behind that heed no SIGTERM, each in a session of its own, and ends."""

import json
import os
import signal
import sys
import time
from pathlib import Path


def main() -> None:
    """``forks.py COUNT STAMP``: STAMP tells when it has ended, and the processes that it leaves."""
    count, stamp = sys.argv[1:]
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    reading, writing = os.pipe()
    pids = []
    for _ in range(int(count)):
        pid = os.fork()
        if not pid:
            os.close(reading)
            os.setsid()
            os.close(writing)
            while True:
                time.sleep(60)
        pids.append(pid)
    os.close(writing)
    os.read(reading, 1)  # until all lead sessions of their own
    with open(os.environ.get("MILABENCH_METRICS", os.devnull), "w") as out:
        out.write(json.dumps({"task": "train", "rate": 1.0, "units": "items/s"}) + "\n")
    Path(stamp).write_text(json.dumps({"ended": time.time(), "left": pids}))
    os._exit(0)


if __name__ == "__main__":
    main()
