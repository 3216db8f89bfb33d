"""The jobs of a run: which points each is to do, in ``<run>/jobs/<name>.json``."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from ..config.schema import Benchmark
from ..errors import RunDirError


@dataclass(frozen=True)
class Job:
    """One allocation: its nodes, and the points that run in it."""

    name: str
    nodes: int
    points: tuple[str, ...]


def jobs_of(points: Sequence[Benchmark], nodes: int, allocation: str) -> list[Job]:
    """One job for all points, or one for each, the largest first."""
    if allocation == "shared":
        most = max(point.num_machines or nodes for point in points)
        return [Job("all", most, tuple(point.name for point in points))]
    each = [Job(point.name, point.num_machines or nodes, (point.name,)) for point in points]
    return sorted(each, key=lambda job: -job.nodes)


def folder(run: Path) -> Path:
    """Where the jobs of a run stand."""
    return run / "jobs"


def save(run: Path, job: Job) -> None:
    """Write it down.

    Raises:
        RunDirError: it cannot be written.
    """
    path = folder(run) / f"{job.name}.json"
    try:
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(asdict(job)) + "\n")
    except OSError as error:
        raise RunDirError(f"cannot write {path}: {error.strerror}") from error


def read(run: Path, name: str) -> Job:
    """Read it back.

    Raises:
        RunDirError: it is not there, or is none.
    """
    path = folder(run) / f"{name}.json"
    try:
        values = json.loads(path.read_text())
        return Job(values["name"], values["nodes"], tuple(values["points"]))
    except OSError as error:
        raise RunDirError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise RunDirError(f"{path} is no job of a run") from error


def address_file(run: Path, name: str) -> Path:
    """Where the leader of a job says where it is."""
    return folder(run) / f".{name}.leader"
