"""The program ``pairs``, whose ranks say that they are on two nodes, the first half on one."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from benchmarks.pairs.main import main

half = int(os.environ["WORLD_SIZE"]) // 2
os.environ["MILABENCH_NODE"] = f"n{int(os.environ['RANK']) // half}"
main()
