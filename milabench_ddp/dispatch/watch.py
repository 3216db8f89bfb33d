"""Looks on at a run that its own command leads, from its folder: another terminal will do."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..events import Outcome
from ..results.read_run import read_states
from .follow import LOOK
from .onlooker import Onlooker

_OPEN = ("waiting", "running")


def watch(
    run: Path,
    onlooker: Onlooker,
    until: Callable[[], bool],
    sleep: Callable[[float], None] = time.sleep,
) -> Outcome | None:
    """Tell an onlooker what becomes of each benchmark, until the run has ended; how it did.

    None where ``until``, which is asked at each look, was true before that.
    """
    seen: dict[str, str] = {}
    while True:
        state = read_states(run)
        for entry in state.get("benchmarks", ()):
            name, now = str(entry["name"]), str(entry["outcome"])
            if seen.get(name, "waiting") != now:
                _tell(onlooker, name, now, entry, state)
            seen[name] = now
        if state.get("outcome") is not None:
            return Outcome(state["outcome"])
        if until():
            return None
        sleep(LOOK)


def _tell(
    onlooker: Onlooker, name: str, now: str, entry: Mapping[str, Any], state: Mapping[str, Any]
) -> None:
    if now == "running":
        nodes = entry.get("nodes") or [state["machine"]["host"]["name"]]
        onlooker.begin(name, nodes, float(state["suite"][name]["max_duration"]))
    elif now not in _OPEN:
        onlooker.end(name, now, str(entry.get("reason") or ""))
