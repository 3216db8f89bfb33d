"""Starts the ranks of a program as torchrun does, but loads modules once: they are its forks.

    python forked_ranks.py RANKS SCRIPT ARGUMENT...

A rank that fails ends the others, and the exit status is 1, as with torchrun.
"""

import importlib
import os
import runpy
import signal
import sys
from pathlib import Path

from torch.distributed import TCPStore


def store() -> int:
    """Start a store in a process of its own, which ends with this one; its port."""
    told, tell = os.pipe()
    kept, keep = os.pipe()
    if not os.fork():
        os.close(keep)
        server = TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
        os.write(tell, str(server.port).encode())
        os.close(tell)
        os.read(kept, 1)
        os._exit(0)
    os.close(tell)
    os.close(kept)
    with os.fdopen(told) as port:
        return int(port.read())


def main(ranks: int, script: str, *argv: str) -> None:
    """Run the script in each of the forks."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    importlib.import_module("benchmarks.common.correctness")  # and with it all strategies
    own = {
        "MASTER_ADDR": "localhost",
        "MASTER_PORT": str(store()),
        "TORCHELASTIC_USE_AGENT_STORE": "True",
        "TORCHELASTIC_RUN_ID": "none",
        "WORLD_SIZE": str(ranks),
        "LOCAL_WORLD_SIZE": str(ranks),
    }
    going = set()
    for rank in range(ranks):
        pid = os.fork()
        if not pid:
            os.environ |= own | {"RANK": str(rank), "LOCAL_RANK": str(rank)}
            sys.argv = [script, *argv]
            sys.path[0] = str(Path(script).parent)
            runpy.run_path(script, run_name="__main__")
            return
        going.add(pid)
    failed = False
    while going:
        pid, status = os.wait()
        going.discard(pid)
        if status and not failed:
            failed = True
            for other in going:
                os.kill(other, signal.SIGTERM)
    sys.exit(failed)


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
