"""Sleeps, then reports a rate."""

import json
import os
import sys
import time


def main() -> None:
    """``sleeper.py [SECONDS]``."""
    time.sleep(float(sys.argv[1]) if len(sys.argv) > 1 else 0.0)
    with open(os.environ.get("MILABENCH_METRICS", os.devnull), "w") as out:
        out.write(json.dumps({"task": "train", "rate": 1.0, "units": "items/s"}) + "\n")


if __name__ == "__main__":
    main()
