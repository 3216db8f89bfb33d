"""Faults that are planted in an agent on purpose; ``benchmarks/common/plant.py`` has the others.

    MILABENCH_PLANT=env:NCCL_IB_DISABLE=1@node3,kill:10@2

A benchmark has them in its ``env``. Before it detects devices, the agent of a node takes a variable
(of visible devices, say); so many seconds later another one ends itself, as a node does that fails.
"""

import os
import signal
import threading
from collections.abc import Collection, Iterable, MutableMapping

from ..config.schema import Benchmark
from ..hazards import PLANT


def plant(
    benchmarks: Iterable[Benchmark], names: Collection[str], environ: MutableMapping[str, str]
) -> None:
    """Plant what is for an agent that has one of these names."""
    texts = dict.fromkeys(benchmark.environ.get(PLANT, "") for benchmark in benchmarks)
    for each in ",".join(texts).split(","):
        what, _, where = each.partition("@")
        kind, _, value = what.partition(":")
        if where not in names:
            continue
        if kind == "env":
            name, _, text = value.partition("=")
            environ[name] = text
        elif kind == "kill":
            end = threading.Timer(float(value or 0), os.kill, (os.getpid(), signal.SIGKILL))
            end.daemon = True
            end.start()
