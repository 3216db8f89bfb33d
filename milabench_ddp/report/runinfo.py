"""What a report says of a run before its numbers: where, when and on what it was measured."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

from ..events import Outcome
from ..results.records import Run, is_finite
from .model import RunInfo
from .outcomes import states, states_of

_YEAR_10000 = 253402300800  # seconds since the epoch: calendars end there


def describe(run: Run) -> RunInfo:
    """The head of the report of a run; what its files do not say is left empty."""
    state, meta = run.state, next((r.meta for r in run.records if r.meta), {})
    arch, devices = _devices(run, meta)
    started, ended = _span(run)
    cpu = _mapping(meta.get("cpu"))
    outcome = state.get("outcome") if state else ""
    named = states(run)
    return RunInfo(
        name=run.name,
        path=run.path,
        outcome=outcome if isinstance(outcome, str) else None,
        preset=str(state.get("preset") or ""),
        started=started,
        seconds=ended - started if started is not None and ended is not None else None,
        host=str(_mapping(meta.get("os")).get("nodename") or ""),
        cpu=" x ".join(str(cpu[key]) for key in ("count", "brand") if cpu.get(key)),
        devices=devices,
        arch=arch,
        version=_version(meta),
        waiting=tuple(name for name, s in named.items() if s.get("outcome") == "waiting"),
        running=tuple(name for name, s in named.items() if s.get("outcome") == "running"),
        skipped=tuple(_skipped(state)),
    )


def _skipped(state: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    listed = state.get("skipped")
    for entry in listed if isinstance(listed, list) else []:
        if isinstance(entry, dict) and "name" in entry:
            yield str(entry["name"]), str(entry.get("reason") or "")
    for name, of in states_of(state).items():
        if of.get("outcome") == Outcome.SKIPPED:
            yield name, str(of.get("reason") or "")


def _devices(run: Run, meta: Mapping[str, Any]) -> tuple[str, str]:
    accelerators = _mapping(meta.get("accelerators"))
    recorded = next((r.config["arch"] for r in run.records if r.config.get("arch")), "")
    arch = str(accelerators.get("arch") or recorded)
    products: dict[str, int] = {}
    for gpu in _mapping(accelerators.get("gpus")).values():
        name = str(_mapping(gpu).get("product") or "unnamed device")
        products[name] = products.get(name, 0) + 1
    if products:
        return arch, ", ".join(f"{count} x {name}" for name, count in products.items())
    return arch, "no GPU" if arch == "cpu" else ""


def _version(meta: Mapping[str, Any]) -> str:
    milabench, pytorch = _mapping(meta.get("milabench")), _mapping(meta.get("pytorch"))
    words = [f"torch {pytorch['torch']}"] if pytorch.get("torch") else []
    words += [f"milabench {milabench['tag']}"] if milabench.get("tag") else []
    return ", ".join(words)


def _span(run: Run) -> tuple[float | None, float | None]:
    """When the run began and ended, in seconds since the epoch."""
    starts: list[Any] = [run.state.get("created")]
    ends: list[Any] = [run.state.get("ended")]
    for record in run.records:
        starts.append((record.start or {}).get("time"))
        ends.append((record.end or {}).get("time"))
    first = min(filter(_is_time, starts), default=None)
    last = max(filter(_is_time, ends), default=None)
    return first, None if run.state and run.state.get("outcome") is None else last


def _is_time(value: object) -> TypeGuard[float]:
    return is_finite(value) and 0 <= value < _YEAR_10000


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
