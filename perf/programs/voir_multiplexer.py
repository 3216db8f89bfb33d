"""voir's multiplexer, which milabench reads its programs with; what it yields is dropped."""

import os
import sys
import tempfile
from pathlib import Path

from voir.proc import Multiplexer


def main() -> None:
    """``voir_multiplexer.py COUNT END COMMAND...``: so many processes; makes END at the end."""
    count, end, command = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    with tempfile.TemporaryDirectory() as folder:
        start = Path(folder, "start")
        os.mkfifo(start)
        barrier = os.open(start, os.O_RDWR)
        multiplexer = Multiplexer(timeout=None)
        for _ in range(count):
            multiplexer.start(command, info={}, env={**os.environ, "MILABENCH_START": str(start)})
        ready = 0
        for entry in multiplexer:
            if entry.event == "ready":
                ready += 1
                if ready == count:
                    os.close(barrier)
        end.touch()


if __name__ == "__main__":
    main()
