"""The facts at the head of a run's report."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, TypeGuard

from msgspec import Struct, field
from msgspec.structs import replace

from ..codec import about
from ..config.schema import SkippedBenchmark
from ..events import Status, Verdict
from ..results.records import Payload, Run, is_finite, mapping_or_empty
from ..results.run_dir import RunDir
from .pooling import cpu_of, devices_of, facts_of

UNKNOWN_OUTCOME = ""  # of milabench's own runs, whose files do not say how they ended
_YEAR_10000 = 253402300800  # seconds since the epoch: calendars end there


class RunInfo(Struct, frozen=True):
    """A run that the report is about."""

    name: str
    path: Annotated[Path, about("the run folder")]
    outcome: Annotated[
        str | None, about("how it ended; null while it goes on, empty if it was not recorded")
    ]
    preset: str = ""
    seed: Annotated[
        int | None, about("of the random order of its launches; null: as in the configuration")
    ] = None
    started: Annotated[float | None, about("when it began, since the epoch", "s")] = None
    seconds: Annotated[float | None, about("how long it took", "s")] = None
    host: Annotated[str, about("a node of it")] = ""
    cpu: Annotated[str, about("the CPUs of this node")] = ""
    devices: Annotated[str, about("the devices of this node, such as 8 x NVIDIA H200")] = ""
    arch: Annotated[str, about("the kind of its devices, such as cuda")] = ""
    version: Annotated[str, about("of torch and milabench")] = ""
    command: Annotated[tuple[str, ...], about("the command that started it")] = ()
    facts: Annotated[
        Mapping[str, str], about("the software and hardware by which runs are compared")
    ] = field(default_factory=dict)
    waiting: Annotated[tuple[str, ...], about("benchmarks that have not begun")] = ()
    running: Annotated[tuple[str, ...], about("benchmarks that run")] = ()
    verdicts: Annotated[Mapping[str, Verdict], about("of benchmarks that have ended")] = field(
        default_factory=dict
    )
    skipped: tuple[SkippedBenchmark, ...] = ()
    scripts: Annotated[Mapping[str, Path], about("what repeats a benchmark, by its name")] = field(
        default_factory=dict
    )
    traces: Annotated[
        Mapping[str, tuple[Path, ...]],
        about("of run --profile: the files of each benchmark that was traced, one for a rank"),
    ] = field(default_factory=dict)


def run_info(run: Run) -> RunInfo:
    """The facts at the head of a run's report; those not recorded are empty."""
    meta: Payload = next((record.meta for record in run.records if record.meta), {})
    accelerators = mapping_or_empty(meta.get("accelerators"))
    started, ended = _span(run)
    arch = str(accelerators.get("arch") or _configured_arch(run))
    devices = devices_of(meta)
    if not devices and arch == "cpu":
        devices = "no GPU"
    info = RunInfo(
        name=run.name,
        path=run.path,
        outcome=UNKNOWN_OUTCOME,
        started=started,
        seconds=None if started is None or ended is None else ended - started,
        host=str(mapping_or_empty(meta.get("os")).get("nodename") or ""),
        cpu=cpu_of(meta),
        devices=devices,
        arch=arch,
        version=_version(meta),
        command=tuple(run.state.header.command) if run.state else (),
        facts=facts_of(run),
        waiting=run.in_status(Status.WAITING),
        running=run.in_status(Status.RUNNING),
        verdicts=run.verdicts,
        skipped=tuple(run.skipped),
        scripts=_scripts(run),
        traces=_traces(run),
    )
    if run.state is None:
        return info
    header = run.state.header
    return replace(info, outcome=header.outcome, preset=header.preset, seed=header.seed)


def _scripts(run: Run) -> dict[str, Path]:
    names = run.state.benchmarks if run.state else ()
    scripts = {name: RunDir(run.path).script(name) for name in names}
    return {name: path for name, path in scripts.items() if path.is_file()}


def _traces(run: Run) -> dict[str, tuple[Path, ...]]:
    inner = RunDir(RunDir(run.path).traces)
    names = run.state.benchmarks if run.state else ()
    return {name: tuple(files) for name in names if (files := inner.traces_of(name))}


def _configured_arch(run: Run) -> object:
    for record in run.records:
        if arch := record.config.get("arch"):
            return arch
    return ""


def _version(meta: Payload) -> str:
    versions = []
    for name, place, key in (("torch", "pytorch", "torch"), ("milabench", "milabench", "tag")):
        if version := mapping_or_empty(meta.get(place)).get(key):
            versions.append(f"{name} {version}")
    return ", ".join(versions)


def _span(run: Run) -> tuple[float | None, float | None]:
    """When the run began and ended, in seconds since the epoch."""
    starts: list[object] = []
    ends: list[object] = []
    if run.state is not None:
        starts.append(run.state.header.created)
        ends.append(run.state.header.ended)
    for record in run.records:
        starts.append((record.start or {}).get("time"))
        ends.append((record.end or {}).get("time"))
    first = min(filter(_is_time, starts), default=None)
    if run.goes_on:
        return first, None
    return first, max(filter(_is_time, ends), default=None)


def _is_time(value: object) -> TypeGuard[float]:
    return is_finite(value) and 0 <= value < _YEAR_10000
