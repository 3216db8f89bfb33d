"""Launches of small programs under the real supervisor."""

import json
import os
import time
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from milabench_ddp.events import Data, Event, Metrics, Output
from milabench_ddp.launch.stop_requests import StopRequests
from milabench_ddp.launch.supervisor import Supervisor
from milabench_ddp.plan.launch import Launch
from milabench_ddp.results.state import LaunchState

EMIT = """
import json, os, sys, time
channel = open(os.environ["MILABENCH_METRICS"], "w", buffering=1)
def emit(**data): channel.write(json.dumps(data) + "\\n")
def rate(value=1.0): emit(task="train", rate=value, units="items/s")
"""
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
# Two ranks in their own sessions that ignore SIGTERM; their children do the same.
DEAF_RANKS = f"""
import subprocess, sys, time
deaf = {DEAF!r}
child = deaf + "import time; time.sleep(600)"
rank = deaf + f"import subprocess, sys, time; " \\
    f"subprocess.Popen([sys.executable, '-c', {{child!r}}], start_new_session=True); " \\
    "time.sleep(600)"
ranks = [subprocess.Popen([sys.executable, "-c", rank], start_new_session=True) for _ in range(2)]
print("up", flush=True)
"""

On = Callable[[Event, StopRequests, Supervisor], None]


def supervise_past_deadline(launch: Launch, up: int) -> tuple[LaunchState, list[Event]]:
    """Run a launch whose ``max_duration`` is over once its processes have printed "up" so often."""
    left = up

    def clock() -> float:
        return time.monotonic() + (0 if left > 0 else launch.benchmark.max_duration)

    def on(event: Event, *_: object) -> None:
        nonlocal left
        if isinstance(event, Output):
            left -= event.text.startswith("up")

    return supervise(launch, on, grace=0.1, clock=clock)


def singly(event: Event) -> Iterator[Event]:
    """The event of each line, for lines that were read together."""
    match event:
        case Metrics(tag, time, text):
            for line in text.splitlines():
                yield Data(tag, time, json.loads(line))
        case Output(text=text):
            for line in text.splitlines(keepends=True):
                yield replace(event, text=line)
        case _:
            yield event


def supervise(
    launch: Launch,
    on: On | None = None,
    *,
    grace: float = 1.0,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[LaunchState, list[Event]]:
    """Run a launch; ``on`` is called with each event as it happens."""
    events: list[Event] = []
    requests = StopRequests()

    def emit(event: Event) -> None:
        for each in singly(event):
            events.append(each)
            if on is not None:
                on(each, requests, supervisor)

    supervisor = Supervisor(launch, os.environ, requests, emit, grace, clock)
    try:
        return supervisor.run(), events
    finally:
        requests.close()
