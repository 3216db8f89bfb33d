"""Looks for inputs that break the laws of ``targets.py``.

    python -m tests.fuzz                  one round of each target, always the same: about a minute
    python -m tests.fuzz --minutes 60     other rounds, one after another, for an hour
    python -m tests.fuzz bash sbatch --minutes 5 --seed 7

Prints each finding with the smallest input that was found, then how many inputs were tried; ends
with 1 if there is a finding. A finding is to become a test, which is plain, and to be mended.
"""

import argparse
import sys
import time

from tests.fuzz.engine import play_round
from tests.fuzz.targets import TARGETS


def main() -> int:
    """Play rounds until the time is over."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description=__doc__.split("\n")[0]
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--minutes", type=float, default=0.0, help="go on for so long")
    parser.add_argument("--seed", type=int, default=0, help="of the first round")
    args = parser.parse_args()
    if unknown := set(args.targets).difference(TARGETS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(TARGETS)}")
    names = args.targets or list(TARGETS)
    tried = dict.fromkeys(names, 0)
    seconds = dict.fromkeys(names, 0.0)
    known: dict[str, set[str]] = {name: set() for name in names}
    seed, end = args.seed, time.monotonic() + 60 * args.minutes
    while True:
        for name in names:
            began = time.monotonic()
            count, finding = play_round(TARGETS[name], seed, known[name])
            tried[name] += count
            seconds[name] += time.monotonic() - began
            if finding is not None:
                print(f"== {name}, seed {seed}: {finding.place}\n{finding.error}")
                print(f"with {finding.example}\n", flush=True)
        seed += 1
        if time.monotonic() >= end:
            break
    for name in names:
        found = len(known[name])
        print(f"{name:14} {tried[name]:9,} inputs {seconds[name]:7.0f} s {found:3} findings")
    return 1 if any(known.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
