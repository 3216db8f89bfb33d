"""The metrics of a program that runs alone, as lines for a person."""

import sys
from collections.abc import Mapping
from statistics import median
from typing import Any


def show(payload: Mapping[str, Any]) -> None:
    """Print one payload of the wire format; not an error, which is on stderr anyhow."""
    if payload.get("$event") != "error":
        # One write, newline and all: the lines of ranks that share a terminal must not mix.
        sys.stdout.write(f"{text(payload)}\n")
        sys.stdout.flush()


def text(payload: Mapping[str, Any]) -> str:
    """One readable line for a payload: speed first, lists as their median and maximum."""
    if "$event" in payload:
        return f"{payload['$event']:8}{_fields(payload['$data'])}".rstrip()
    fields = dict(payload)
    task, rank = fields.pop("task"), fields.pop("rank", 0)
    if "rate" in fields:
        words = f"{_rate(fields['rate']):>12} {fields['units']}  step {fields['step']}"
        words += "  (warm-up)" if fields.get("warmup") else ""
    elif "step_times" in fields:
        words = _step_times(fields["step_times"])
    else:
        words = f"rank {rank}  {_fields(fields)}"
    return f"{task:8}{words}"


def _rate(rate: float) -> str:
    return f"{rate:.2f}" if rate >= 100 else f"{rate:.4f}"


def _step_times(chunk: Mapping[str, Any]) -> str:
    times, waits = chunk["ms"], chunk["wait_ms"]
    last = chunk["from"] + len(times) - 1
    return (
        f"rank {chunk['rank']}  steps {chunk['from']}-{last}: median {median(times):.3f} ms, "
        f"maximum {max(times):.3f} ms, {100 * sum(waits) / max(sum(times), 1e-12):.1f} % of it "
        "waiting for data"
    )


def _fields(fields: Mapping[str, Any]) -> str:
    return "  ".join(f"{name} {_value(value)}" for name, value in fields.items())


def _value(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
