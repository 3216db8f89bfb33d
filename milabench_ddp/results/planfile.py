"""``plan.json``: what a run is to do, so that others can do it: node agents, and ``--resume``."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..config.schema import Benchmark, FakeImageNet, PlanSpec
from ..errors import RunDirError
from ..plan.command_line import Site

SCHEMA = 1


@dataclass(frozen=True)
class RunPlan:
    """The benchmarks of a run and how they are run, without the machine."""

    benchmarks: tuple[Benchmark, ...]
    repeats: int
    site: Site
    arch: str
    gpus: int | None  # devices of a node; None for all there are
    nodes: int
    grace: float  # seconds between SIGTERM and SIGKILL
    gpu_poll: float | None  # seconds between samples of the devices; None for the default
    runner: Mapping[str, Any] = field(default_factory=dict)  # its profile; empty: this process

    def save(self, path: Path) -> None:
        """Write it.

        Raises:
            RunDirError: it cannot be written.
        """
        values = {"schema": SCHEMA, **asdict(self)}
        values["benchmarks"] = [_of_benchmark(benchmark) for benchmark in self.benchmarks]
        try:
            path.write_text(json.dumps(values, default=str, indent=1) + "\n")
        except OSError as error:
            raise RunDirError(f"cannot write {path}: {error.strerror}") from error


def read_plan(path: Path) -> RunPlan:
    """Read it back.

    Raises:
        RunDirError: it is not there, or is none.
    """
    try:
        values = json.loads(path.read_text())
        _check(values.pop("schema"))
        values["benchmarks"] = tuple(_benchmark(each) for each in values["benchmarks"])
        site = values["site"]
        values["site"] = Site(**{**site, "voir_shim": Path(site["voir_shim"])})
        return RunPlan(**values)
    except OSError as error:
        raise RunDirError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunDirError(f"{path} is no plan of this version of milabench") from error


def _check(schema: object) -> None:
    if schema != SCHEMA:
        raise ValueError(schema)


def _of_benchmark(benchmark: Benchmark) -> dict[str, Any]:
    return {**asdict(benchmark), "tags": sorted(benchmark.tags)}


def _benchmark(values: dict[str, Any]) -> Benchmark:
    voirfile, data = values["voirfile"], values["data"]
    return Benchmark(
        **{
            **values,
            "program": Path(values["program"]),
            "plan": PlanSpec(**values["plan"]),
            "argv": tuple(values["argv"]),
            "tags": frozenset(values["tags"]),
            "voirfile": None if voirfile is None else Path(voirfile),
            "data": None if data is None else FakeImageNet(**data),
        }
    )
