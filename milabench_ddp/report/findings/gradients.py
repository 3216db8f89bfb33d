"""Findings about what ``--check-correctness`` told: gradients beside those of one device."""

from collections import Counter

from ...results.records import Payload, is_finite, mapping_or_empty
from ..finding import filled
from ..model import Row
from .finder import Finds, Found, finding

# What a check compared; a part in brackets is said if its words are known
GRADIENTS = (
    "its gradients differ[ by {by}] (relative, at most {limit}) from those of {reference}"
    "[ in {precision}][ after {steps} steps][, with {covers}][, {leaves_out} not checked]"
    "[; in the first step in {own} by {own_by} (at most {own_limit})]"
)


@finding(
    "error",
    "WRONG: {gradients}: it does not train correctly, so its speed means nothing{times}",
    "find the mode or the precision that makes them wrong",
)
def wrong_gradients(row: Row) -> Finds:
    """Programs whose gradients are not those of one device, by ``--check-correctness``."""
    return _checked(row, ok=False)


@finding("note", "{gradients}{times}")
def checked_gradients(row: Row) -> Finds:
    """What was compared, in which precision, and how far apart it is."""
    return _checked(row, ok=True)


def _checked(row: Row, *, ok: bool) -> Finds:
    checks = [process.record.reported("correctness") for process in row.processes]
    meant = [check for check in checks if check and (check.get("ok") is True) == ok]
    for gradients, count in Counter(map(_gradients, meant)).items():
        times = f" ({count} processes)" if count > 1 else ""
        yield Found("", {"count": count}, {"gradients": gradients, "times": times})


def _gradients(check: Payload) -> str:
    own = mapping_or_empty(check.get("in_own_types"))
    words = {
        "limit": check.get("tolerance"),
        "reference": check.get("reference", "the reference"),
        "by": _by(check),
        "precision": check.get("precision"),
        "steps": check.get("steps"),
        "covers": _listed(check.get("covers")),
        "leaves_out": _listed(check.get("leaves_out")),
        "own": own.get("precision"),
        "own_by": _by(own),
        "own_limit": own.get("tolerance"),
    }
    return filled(GRADIENTS, words)


def _listed(parts: object) -> str:
    return " and ".join(map(str, parts)) if isinstance(parts, list) else ""


def _by(check: Payload) -> str:
    error = check.get("gradient_error")
    return f"{error:.2g}" if is_finite(error) else ""
