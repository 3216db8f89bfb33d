"""voir's multiplexer, which milabench reads its programs with; what it yields is dropped.

It cuts lines where a read ends, so that they are no metrics any more, and fails when one program
has ended before the others. So nothing is counted, and the programs are ended once all is read.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

from voir.proc import Multiplexer

QUIET = 0.5  # seconds without a line, after which all has been read


def main() -> None:
    """``voir_multiplexer.py COUNT END COMMAND...``: so many processes.

    The time of the file END is that of the last line.
    """
    count, end, command = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    with tempfile.TemporaryDirectory() as folder:
        start = Path(folder, "start")
        os.mkfifo(start)
        barrier = os.open(start, os.O_RDWR)
        multiplexer = Multiplexer(timeout=100)
        programs = []
        for _ in range(count):
            env = {**os.environ, "MILABENCH_START": str(start)}
            programs.append(multiplexer.start(command, info={}, env=env))
        ready, last = 0, time.time()
        for entry in multiplexer:
            if entry is not None:
                last = time.time()
                if entry.event == "ready":
                    ready += 1
                    if ready == count:
                        os.close(barrier)
            elif ready == count and time.time() - last > QUIET:
                break
        end.touch()
        os.utime(end, (last, last))
        for program in programs:
            program.kill()


if __name__ == "__main__":
    main()
