"""Findings about what ``--check-correctness`` told: gradients beside those of one device."""

from collections import Counter

from ...results.records import Payload, is_finite
from ..model import Row
from .finder import Finds, Found, finding


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
    limit, reference = check.get("tolerance"), check.get("reference", "the reference")
    sentence = f"its gradients differ{_by(check)} (relative, at most {limit}) from those of "
    sentence += f"{reference}"
    if isinstance(check.get("precision"), str):
        sentence += f" in {check['precision']}"
    if isinstance(check.get("steps"), int):
        sentence += f" after {check['steps']} steps"
    for key, words in (("covers", ", with {}"), ("leaves_out", ", {} not checked")):
        if isinstance(parts := check.get(key), list) and parts:
            sentence += words.format(" and ".join(map(str, parts)))
    own = check.get("in_own_types")
    if isinstance(own, dict):
        limit = own.get("tolerance")
        sentence += f"; in the first step in {own.get('precision')}{_by(own)} (at most {limit})"
    return sentence


def _by(check: Payload) -> str:
    error = check.get("gradient_error")
    return f" by {error:.2g}" if is_finite(error) else ""
