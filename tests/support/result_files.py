"""Result files for the tests of their readers, as milabench or our own writer writes them."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from milabench_ddp.codec import write_record
from milabench_ddp.events import Outcome, Status
from milabench_ddp.results.lock import alive
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.state import BenchmarkState, RunHeader

RECORDED = Path(__file__).parent.parent / "recorded"
# Of PyTorch 2.15; only the paths are shorter, and a line of the program's own is added at the end
TORCHRUN = (RECORDED / "torchrun.stderr").read_text().splitlines()


def line(event: str, data: Any, pipe: str | None = None) -> str:
    return json.dumps({"event": event, "data": data, "pipe": pipe}) + "\n"


def config(name: str, **changes: Any) -> str:
    data = {"name": name, "group": name, "tag": [name, "D0"], "plan": {"method": "per_gpu"}}
    return line("config", {**data, "weight": 1.0, "enabled": True, **changes})


def start(time: float = 1000.0) -> str:
    return line("start", {"command": ["python", "main.py"], "time": time})


def end(code: Any = 0, time: float = 1060.0, **more: Any) -> str:
    return line(
        "end", {"command": ["python", "main.py"], "time": time, "return_code": code, **more}
    )


def rate(value: Any, **more: Any) -> str:
    return line("data", {"task": "train", "rate": value, "units": "items/s", **more}, "data")


def rates(values: Iterable[Any], **more: Any) -> str:
    return "".join(rate(value, **more) for value in values)


def loss(value: Any) -> str:
    return line("data", {"task": "train", "loss": value}, "data")


def sample(**devices: Sequence[float]) -> str:
    """``d0=(used, load)``: a sample of device 0."""
    data = {
        key.removeprefix("d"): {"memory": [used, 80000.0], "load": load}
        for key, (used, load) in devices.items()
    }
    return line("data", {"task": "main", "gpudata": data}, "data")


def sampled(time: float, **devices: Mapping[str, Any]) -> str:
    """``d0={"power": 300.0}``: what the sensors of device 0 told at a time."""
    data = {key.removeprefix("d"): {"load": 1.0, **found} for key, found in devices.items()}
    return line("data", {"task": "main", "time": time, "gpudata": data}, "data")


def timed_rates(values: Iterable[float], **more: Any) -> str:
    """Rates of observations of a second each from second 1000 on, as our programs write them."""
    text = ""
    for k, value in enumerate(values, 1):
        text += rate(value, time=1000.0 + k, elapsed=float(k), step=k, **more)
    return text


def told(rank: int = 0, **fields: Any) -> str:
    """A payload about the whole program, reported by one rank."""
    return line("data", {"task": "main", "rank": rank, **fields}, "data")


def steps(
    rank: int,
    ms: Sequence[float],
    wait_ms: Sequence[float] = (),
    first: int = 0,
    parts: Mapping[str, Sequence[float]] | None = None,
) -> str:
    waits = list(wait_ms) or [0.0] * len(ms)
    times = {"rank": rank, "from": first, "ms": list(ms), "wait_ms": waits}
    if parts is not None:
        times["parts"] = {name: list(found) for name, found in parts.items()}
    return told(step_times=times)


def parts(rank: int, **part_ms: float) -> str:
    """Mean times of the parts of a step, each with a deviation of 1 %, and their shares."""
    whole = sum(part_ms.values())
    return told(
        rank,
        shares={name: ms / whole for name, ms in part_ms.items()},
        part_ms={name: [ms, ms / 100] for name, ms in part_ms.items()},
    )


def job(name: str, ranks: int = 2, nodes: int = 1, **changes: Any) -> str:
    """The config of a torchrun."""
    settings = {"plan": {"method": "njobs", "n": 1}, "tag": [name, "0"], "num_machines": nodes}
    return config(name, **{**settings, "devices": list(range(ranks)), **changes})


def write(folder: Path, tag: str, *parts: str, stderr: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{tag}.data"
    path.write_text("".join(parts))
    if stderr:
        (folder / f"{tag}.stderr").write_text(stderr)
    return path


def write_state(
    folder: Path,
    outcome: str | None,
    states: Mapping[str, str],
    reasons: Mapping[str, str] | None = None,
    **more: Any,
) -> None:
    """``run.json`` and the ``state.json`` of each benchmark that does not wait; ``more`` of it."""
    folder.mkdir(parents=True, exist_ok=True)
    values: dict[str, Any] = {
        "name": folder.name,
        "milabench": "0.1",
        "created": 1000.0,
        "command": ["milabench", "run"],
        "preset": "full",
        "config": "suite.yaml",
        "machine": {},
        "suite": {name: {"weight": 1.0} for name in states},
        "outcome": None if outcome is None else Outcome(outcome),
        "ended": None if outcome is None else 1200.0,
    }
    run = RunDir(folder)
    write_record(run.run_json, RunHeader(**{**values, **more}))
    for name, status in states.items():
        state = BenchmarkState(name, Status(status), (reasons or {}).get(name, ""))
        if state.status is not Status.WAITING:
            write_record(run.state_json(name), state)


@contextmanager
def going_on(folder: Path, *running: str) -> Iterator[None]:
    """Hold the locks of a run and of its running benchmarks inside the block."""
    with ExitStack() as stack:
        for path in (folder, *(folder / name for name in running)):
            stack.enter_context(alive(path))
        yield
