"""The errors (Xids) that NVIDIA's driver reports, of a shipped file: what to do about each."""

from functools import cache
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ..samples import DeviceProblem
from .checks import Count, Text
from .published import read_data

ACTIONS = ("isolate", "reboot", "reset", "watch")
"""What to do with a device or its node, the gravest first."""
_UNKNOWN = "see NVIDIA's list of Xids"


class Xid(Struct, frozen=True, forbid_unknown_fields=True):
    """An error that NVIDIA's driver reports, or several that are alike."""

    numbers: tuple[Count, ...]
    severity: Literal["error", "warning", "note"]  # an error is a fault of the machine
    action: Literal["isolate", "reboot", "reset", "watch"]
    means: Text
    source: Text


@cache
def xids() -> dict[int, Xid]:
    return {number: xid for xid in read_data("xids", Xid).values() for number in xid.numbers}


def explained(problem: DeviceProblem) -> DeviceProblem:
    """A problem with what its Xid means, whether that is a fault, and what to do about it.

    What its driver asks for goes before what the table says.
    """
    if problem.xid is None:
        return problem
    known = xids().get(problem.xid)
    if known is None:
        return replace(problem, sentence=f"{problem.sentence}: {_UNKNOWN}", is_fault=False)
    return replace(
        problem, sentence=f"{problem.sentence}: {known.means}",
        is_fault=known.severity == "error", action=problem.action or known.action,
    )  # fmt: skip


def severity_of(problem: DeviceProblem) -> str:
    """How serious a problem is, as of a finding; an Xid that is not known may be none of it."""
    if problem.xid is None:
        return "error" if problem.is_fault else "note"
    known = xids().get(problem.xid)
    return known.severity if known else "warning"
