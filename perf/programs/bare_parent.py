"""The least that a deadline takes: starts a process, and signals it when its time is over."""

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path


def main() -> None:
    """``bare_parent.py SECONDS SIGNAL TOLD COMMAND...``: TOLD gets the times of start and end."""
    due, number, told = float(sys.argv[1]), signal.Signals[sys.argv[2]], Path(sys.argv[3])
    process = subprocess.Popen(sys.argv[4:], stdout=subprocess.DEVNULL, start_new_session=True)
    started = time.time()
    select.select([os.pidfd_open(process.pid)], [], [], due)
    os.killpg(process.pid, number)
    process.wait()
    told.write_text(f"{started} {time.time()}")


if __name__ == "__main__":
    main()
