"""Measures the time and the memory of `milabench dry` of the suite for a large cluster.

    python perf/dry_scale.py [NODES]

Prints the same for a tenth of the nodes: ten times the nodes should take at most ten times as much.
"""

import subprocess
import sys
import time

GPUS = 8


def dry(nodes: int) -> tuple[float, float, int]:
    """Seconds, peak memory in MiB, and the number of printed lines."""
    words = ["dry", "ddp", "--device", "cuda", "--gpus", str(GPUS), "--nodes", str(nodes)]
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, *words], capture_output=True, text=True, check=True
    )
    return time.perf_counter() - begin, int(done.stderr) / 1024, done.stdout.count("\n")


_MEASURED = """
import resource, sys
from milabench_ddp.cli import main
code = main(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


def main() -> None:
    """Print a line for each size."""
    nodes = int(sys.argv[1]) if len(sys.argv) > 1 else 1024
    for count in (nodes // 10, nodes):
        seconds, memory, lines = dry(count)
        print(f"{count:5} nodes of {GPUS}: {seconds:.2f} s, {memory:.0f} MiB, {lines} lines")


if __name__ == "__main__":
    main()
