"""The facts at the head of a run's report."""

import shlex
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, TypeGuard

from msgspec import Struct
from msgspec.structs import replace

from ..codec import about, loads
from ..config.schema import SkippedBenchmark
from ..events import Status, Verdict
from ..files import read_bytes
from ..hostlist import hostlist
from ..results.node_state import NodeStatus
from ..results.records import Run, is_finite, mapping_or_empty
from ..results.run_dir import RunDir
from ..results.state import RunState
from .pooling import cpu_of, devices_of, facts_of, told_text

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
    version: Annotated[str, about("of torch and milabench, the image and modules")] = ""
    command: Annotated[tuple[str, ...], about("the command that started it")] = ()
    facts: Annotated[
        Mapping[str, str], about("the software and hardware by which runs are compared")
    ] = {}
    waiting: Annotated[tuple[str, ...], about("benchmarks that have not begun")] = ()
    running: Annotated[tuple[str, ...], about("benchmarks that run")] = ()
    verdicts: Annotated[Mapping[str, Verdict], about("of benchmarks that have ended")] = {}
    skipped: tuple[SkippedBenchmark, ...] = ()
    scripts: Annotated[Mapping[str, Path], about("what repeats a benchmark, by its name")] = {}
    traces: Annotated[
        Mapping[str, tuple[Path, ...]],
        about("of run --profile: the files of each benchmark that was traced, one for a rank"),
    ] = {}
    resume: Annotated[str, about("the command that runs what has no result, or empty")] = ""


def run_info(run: Run) -> RunInfo:
    """The facts at the head of a run's report; those not recorded are empty."""
    meta = run.meta
    started, ended = _span(run)
    configured = (record.config.get("arch") for record in run.records)
    arch = told_text(meta, "accelerators", "arch") or str(next(filter(None, configured), ""))
    devices = devices_of(meta) or ("no GPU" if arch == "cpu" else "")
    versions = []
    for name, place, key in (("torch", "pytorch", "torch"), ("milabench", "milabench", "tag")):
        if version := told_text(meta, place, key):
            versions.append(f"{name} {version}")
    facts = facts_of(run)
    versions += [f"{name} {facts[name]}" for name in ("image", "modules") if name in facts]
    info = RunInfo(
        name=run.name,
        path=run.path,
        outcome=UNKNOWN_OUTCOME,
        started=started,
        seconds=None if started is None or ended is None else ended - started,
        host=told_text(meta, "os", "nodename"),
        cpu=cpu_of(meta),
        devices=devices,
        arch=arch,
        version=", ".join(versions),
        facts=facts,
        waiting=run.in_status(Status.WAITING),
        running=run.in_status(Status.RUNNING),
        verdicts=run.verdicts,
        skipped=tuple(run.skipped),
    )
    if run.state is None:
        return info
    header, folder = run.state.header, RunDir(run.path)
    scripts = {name: folder.script(name) for name in run.state.benchmarks}
    traces = {name: tuple(RunDir(folder.traces).traces_of(name)) for name in run.state.benchmarks}
    return replace(
        info,
        outcome=header.outcome,
        preset=header.preset,
        seed=header.seed,
        command=tuple(header.command),
        scripts={name: path for name, path in scripts.items() if path.is_file()},
        traces={name: files for name, files in traces.items() if files},
        resume=_resume(run.path, run.state),
    )


def _resume(path: Path, state: RunState) -> str:
    """The command that runs what has no result, without the nodes that were lost; or empty."""
    if state.header.outcome is None or state.is_final:
        return ""
    words = ["milabench", "run", "--resume", str(path)]
    nodes = list(state.nodes.values())
    lost = [node.name for node in nodes if node.all_losses and node.status is not NodeStatus.JOINED]
    # of more than half, the cause is not their own: a command of `setup`, or the network
    if state.header.jobs and 0 < len(lost) <= len(nodes) / 2:
        excluded = [hostlist(lost)]
        with suppress(OSError, ValueError):
            plan = mapping_or_empty(loads(read_bytes(RunDir(path).plan_json)))
            if given := mapping_or_empty(plan.get("runner")).get("exclude"):
                excluded.append(str(given))
        words += ["--exclude-nodes", ",".join(excluded)]
    return shlex.join(words)


def _span(run: Run) -> tuple[float | None, float | None]:
    """When the run began and ended, in seconds since the epoch; if possible by one clock."""
    starts: list[object] = [run.state and run.state.header.created]
    ends: list[object] = [run.state and run.state.header.ended]
    for record in () if all(map(_is_time, starts + ends)) else run.records:
        starts.append((record.start or {}).get("time"))
        ends.append((record.end or {}).get("time"))
    first = min(filter(_is_time, starts), default=None)
    if run.goes_on:
        return first, None
    return first, max(filter(_is_time, ends), default=None)


def _is_time(value: object) -> TypeGuard[float]:
    return is_finite(value) and 0 <= value < _YEAR_10000
