"""Result files for the tests of what reads them, in our writer's form or in milabench's."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

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


def told(rank: int = 0, **fields: Any) -> str:
    """A payload of the whole program, in the name of a rank."""
    return line("data", {"task": "main", "rank": rank, **fields}, "data")


def steps(rank: int, ms: Sequence[float], wait_ms: Sequence[float] = (), first: int = 0) -> str:
    waits = list(wait_ms) or [0.0] * len(ms)
    return told(step_times={"rank": rank, "from": first, "ms": list(ms), "wait_ms": waits})


def parts(rank: int, **part_ms: float) -> str:
    """Mean times of the parts of a step, each with a deviation of a hundredth, and their shares."""
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


def write_state(folder: Path, outcome: str | None, states: dict[str, str], **more: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    state = {
        "schema": 1,
        "name": folder.name,
        "milabench": "0.1.0",
        "created": 1000.0,
        "command": [],
        "config": "",
        "machine": {},
        "ended": None if outcome is None else 1200.0,
        "preset": "full",
        "suite": {name: {"weight": 1.0} for name in states},
        "skipped": [],
        "benchmarks": [
            {"name": name, "outcome": ended, "reason": ""} for name, ended in states.items()
        ],
        "outcome": outcome,
    }
    (folder / "run.json").write_text(json.dumps({**state, **more}))
