"""The results of ``--check-correctness``: a program's gradients beside those of one device."""

from collections import Counter
from typing import Any

from ...results.records import Payload, is_finite
from ..finding import Finding, Findings
from ..model import Row


def wrong_gradients(row: Row) -> Findings:
    """Programs whose gradients are not those of one device."""
    yield from _checked(row, ok=False)


def right_gradients(row: Row) -> Findings:
    """What was compared, in which precision, and how far apart it is."""
    yield from _checked(row, ok=True)


def _checked(row: Row, *, ok: bool) -> Findings:
    """The checks with this result; equal ones are counted."""
    checks = [process.record.reported("correctness") for process in row.processes]
    meant = [check for check in checks if check and (check.get("ok") is True) == ok]
    for sentence, count in Counter(map(_sentence, meant)).items():
        times = f" ({count} processes)" if count > 1 else ""
        yield Finding(f"{sentence}{times}", evidence={"count": count})


def _sentence(check: Payload) -> str:
    limit, reference = check.get("tolerance"), check.get("reference", "the reference")
    sentence = f"its gradients differ{_by(check)} (relative, at most {limit})"
    sentence += f" from those of {reference}"
    if isinstance(check.get("precision"), str):
        sentence += f" in {check['precision']}"
    if isinstance(check.get("steps"), int):
        sentence += f" after {check['steps']} steps"
    covers, leaves_out = _words(check.get("covers")), _words(check.get("leaves_out"))
    if covers:
        sentence += f", with {covers}"
    if leaves_out:
        sentence += f", {leaves_out} not checked"
    own = check.get("in_own_types")
    if isinstance(own, dict):
        limit = own.get("tolerance")
        sentence += f"; in the first step in {own.get('precision')}{_by(own)} (at most {limit})"
    if check.get("ok") is True:
        return sentence
    return f"WRONG: {sentence}: it does not train correctly, so its speed means nothing"


def _by(check: Payload) -> str:
    error = check.get("gradient_error")
    return f" by {error:.2g}" if is_finite(error) else ""


def _words(value: Any) -> str:
    return " and ".join(map(str, value)) if isinstance(value, list) else ""
