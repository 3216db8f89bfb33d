"""The options of ``doctor``: of those of a run, the ones that say where it would be."""

from dataclasses import dataclass, field
from typing import Any

from .option import option
from .suite import LaunchOptions


def _of_a_run(name: str) -> Any:
    declared = LaunchOptions.__dataclass_fields__[name]
    return field(default=declared.default, metadata=declared.metadata)


@dataclass(frozen=True, kw_only=True)
class DoctorOptions:
    """The options of ``doctor``."""

    device: str | None = _of_a_run("device")
    gpus: int | None = _of_a_run("gpus")
    base: str | None = _of_a_run("base")
    runner: str | None = _of_a_run("runner")
    system: str | None = _of_a_run("system")
    json: bool = option(False, "print JSON, for programs", begins="output")
