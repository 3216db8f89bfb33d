"""Two ranks find the larger of two values, of which one is an int and the other a float."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from benchmarks.common.group import Group

if __name__ == "__main__":
    group = Group.join("cpu")
    assert group.largest([-10, -7.3][group.rank]) == -7.3
    group.leave()
