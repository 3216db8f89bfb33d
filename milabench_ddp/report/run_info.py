"""What a report says of a run before its numbers: where, when and on what it was measured."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeGuard

from ..events import Status
from ..results.records import Payload, Run, is_finite
from ..results.state import RunState
from .model import RunInfo

_YEAR_10000 = 253402300800  # seconds since the epoch: calendars end there


def describe(run: Run) -> RunInfo:
    """The head of the report of a run; what its files do not say is left empty."""
    meta: Payload = next((record.meta for record in run.records if record.meta), {})
    cpu = _mapping(meta, "cpu")
    started, ended = _span(run)
    arch = _arch(run, meta)
    info = RunInfo(
        name=run.name,
        path=run.path,
        outcome="",
        started=started,
        seconds=ended - started if started is not None and ended is not None else None,
        host=str(_mapping(meta, "os").get("nodename") or ""),
        cpu=" x ".join(str(cpu[key]) for key in ("count", "brand") if cpu.get(key)),
        devices=_devices(meta) or ("no GPU" if arch == "cpu" else ""),
        arch=arch,
        version=_version(meta),
    )
    return _with_state(info, run.state) if run.state else info


def _with_state(info: RunInfo, state: RunState) -> RunInfo:
    skipped = [(skipped.name, skipped.reason) for skipped in state.header.skipped]
    by_status: dict[Status, list[str]] = {}
    for name, benchmark in state.benchmarks.items():
        by_status.setdefault(benchmark.status, []).append(name)
        if benchmark.status is Status.SKIPPED:
            skipped.append((name, benchmark.reason))
    return replace(
        info,
        outcome=state.header.outcome,
        preset=state.header.preset,
        waiting=tuple(by_status.get(Status.WAITING, ())),
        running=tuple(by_status.get(Status.RUNNING, ())),
        skipped=tuple(skipped),
    )


def _arch(run: Run, meta: Payload) -> str:
    if arch := _mapping(meta, "accelerators").get("arch"):
        return str(arch)
    for record in run.records:
        if arch := record.config.get("arch"):
            return str(arch)
    return ""


def _devices(meta: Payload) -> str:
    products: Counter[str] = Counter()
    gpus = _mapping(_mapping(meta, "accelerators"), "gpus")
    for index in gpus:
        products[str(_mapping(gpus, index).get("product") or "unnamed device")] += 1
    return ", ".join(f"{count} x {name}" for name, count in products.items())


def _version(meta: Payload) -> str:
    versions = []
    if torch := _mapping(meta, "pytorch").get("torch"):
        versions.append(f"torch {torch}")
    if milabench := _mapping(meta, "milabench").get("tag"):
        versions.append(f"milabench {milabench}")
    return ", ".join(versions)


def _span(run: Run) -> tuple[float | None, float | None]:
    """When the run began and ended, in seconds since the epoch."""
    starts = [record.start.get("time") for record in run.records if record.start]
    ends = [record.end.get("time") for record in run.records if record.end]
    if run.state is not None:
        starts.append(run.state.header.created)
        ends.append(run.state.header.ended)
    first = min(filter(_is_time, starts), default=None)
    return first, None if run.goes_on else max(filter(_is_time, ends), default=None)


def _is_time(value: object) -> TypeGuard[float]:
    return is_finite(value) and 0 <= value < _YEAR_10000


def _mapping(payload: Payload, key: str) -> Payload:
    value = payload.get(key)
    return value if isinstance(value, Mapping) else {}
