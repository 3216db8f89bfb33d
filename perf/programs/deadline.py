"""Runs until it is ended: heeds SIGTERM and tells when it came, is deaf, or writes all the time."""

import os
import signal
import sys
import time
from pathlib import Path


def main() -> None:
    """``deadline.py STAMPS heeds|deaf|floods``: STAMPS/<pid> tells when SIGTERM came."""
    stamps, kind = sys.argv[1:]

    def tell(*_: object) -> None:
        if kind != "deaf":
            Path(stamps, str(os.getpid())).write_text(repr(time.time()))
            os._exit(0)

    signal.signal(signal.SIGTERM, tell)
    line = b"x" * 99 + b"\n"
    while True:
        if kind == "floods":
            os.write(1, line * 100)
        else:
            time.sleep(1)


if __name__ == "__main__":
    main()
