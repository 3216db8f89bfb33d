"""Result files for the tests of what reads them, in our writer's form or in milabench's."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parent.parent / "recorded"


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


def write(folder: Path, tag: str, *parts: str, stderr: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{tag}.data"
    path.write_text("".join(parts))
    if stderr:
        (folder / f"{tag}.stderr").write_text(stderr)
    return path


def write_state(folder: Path, outcome: str | None, benchmarks: dict[str, str], **more: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    state = {
        "schema": 1,
        "name": folder.name,
        "created": 1000.0,
        "ended": None if outcome is None else 1200.0,
        "preset": "full",
        "suite": {name: {"weight": 1.0} for name in benchmarks},
        "skipped": [],
        "benchmarks": [
            {"name": name, "outcome": ended, "reason": ""} for name, ended in benchmarks.items()
        ],
        "outcome": outcome,
    }
    (folder / "run.json").write_text(json.dumps({**state, **more}))
