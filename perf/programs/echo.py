"""Writes a line, waits until it is in the result file, and tells how long each took."""

import json
import os
import sys
import time
from pathlib import Path

PAUSE = 2e-5  # between two looks at the file


def main() -> None:
    """``echo.py metrics|stdout LINES FOLDER SUFFIX TOLD``: the file FOLDER/*SUFFIX grows."""
    kind, count, folder, suffix, told = sys.argv[1:]
    channel = os.open(os.environ["MILABENCH_METRICS"], os.O_WRONLY)
    out = channel if kind == "metrics" else 1
    while not (found := list(Path(folder).glob(f"*{suffix}"))):
        time.sleep(0.01)
    file = os.open(found[0], os.O_RDONLY)
    took = []
    for number in range(int(count)):
        time.sleep(0.01)
        line = json.dumps({"task": "train", "rate": 1.0 + number, "units": "items/s"})
        size = os.fstat(file).st_size
        begin = time.perf_counter()
        os.write(out, line.encode() + b"\n")
        while os.fstat(file).st_size == size:
            time.sleep(PAUSE)
        took.append(time.perf_counter() - begin)
    if kind == "stdout":
        os.write(channel, b'{"task": "train", "rate": 1.0, "units": "items/s"}\n')
    Path(told).write_text(json.dumps(took))


if __name__ == "__main__":
    main()
