"""Measures how fast the command line answers, relative to ``python -c pass`` in the same run.

    python perf/startup.py

Limits of the ratio: ``milabench --help`` 6, ``dry`` of the suite for 8 nodes of 8 GPUs 25.
"""

import sys

from paired import MILABENCH, compare

BARE = [sys.executable, "-c", "pass"]
DRY = [*MILABENCH, "dry", "config/ddp.yaml", "--nodes", "8", "--gpus", "8"]


def main() -> None:
    """Print a line for each command."""
    for name, command, limit in (
        ("milabench --help", [*MILABENCH, "--help"], 6),
        ("milabench dry config/ddp.yaml --nodes 8 --gpus 8", DRY, 25),
    ):
        mine, bare, ratio = compare(command, BARE)
        print(
            f"{name}: {mine * 1e3:.0f} ms, python -c pass: {bare * 1e3:.1f} ms, "
            f"ratio {ratio:.1f} (at most {limit})"
        )


if __name__ == "__main__":
    main()
