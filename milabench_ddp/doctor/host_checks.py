"""Checks what else is on this host: other processes, py-spy, variables."""

import os
import time
from collections.abc import Iterator
from contextlib import suppress

from ..errors import shown_names
from ..hazards import hazards_in
from ..launch.py_spy import Spy
from ..launch.stacks import PATIENCE
from ..machine.backends import BACKENDS
from ..machine.devices import Cluster
from ..machine.host import other_process
from .diagnosis import Diagnosis, ok, warning

_WHILE = 1.0  # seconds in which processes are watched
_BUSY = 0.5  # of a core, by all others together
_TOLD = 0.05  # of a core, by one of them


def load(cluster: Cluster) -> Iterator[Diagnosis]:
    used = BACKENDS[cluster.arch].others(cluster.nodes[0].devices)
    yield from (warning(each, "end it, or hide that GPU: CUDA_VISIBLE_DEVICES") for each in used)
    if busy := _busy():
        yield warning(f"other processes compute: {shown_names(busy, 3)}", "end them, or wait")
    elif not used:
        yield ok("no other process computes")


def _busy() -> list[str]:
    import psutil

    processes = list(psutil.process_iter())
    for process in processes:
        with suppress(psutil.Error):
            process.cpu_percent()  # since now
    time.sleep(_WHILE)
    found = []
    for process in processes:
        with suppress(psutil.Error):
            cores = process.cpu_percent() / 100
            if cores >= _TOLD and (who := other_process(process.pid)):
                found.append((cores, f"{who} on {cores:.1f} cores"))
    is_busy = sum(cores for cores, _ in found) >= _BUSY
    return [said for _, said in sorted(found, reverse=True)] if is_busy else []


def py_spy() -> Iterator[Diagnosis]:
    spy = Spy(os.getpid())
    spy.ask()
    _, untold = spy.told(time.monotonic() + PATIENCE)
    if untold:
        yield warning("where a program hangs will not be known", untold)
    else:
        yield ok("it sees the stacks of processes")


def variables(cluster: Cluster, nodes: int) -> Iterator[Diagnosis]:
    found = list(hazards_in(os.environ, on_gpu=cluster.has_gpu, nodes=nodes))
    for setting, effect in found:
        yield warning(f"{setting}: {effect}", f"unset {setting.partition('=')[0]}")
    if not found:
        yield ok("none is set that is known to slow training down")
