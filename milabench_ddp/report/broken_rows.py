"""Makes a report even if one benchmark breaks it: the others are reported as usual."""

from collections.abc import Callable
from typing import TypeVar

from msgspec.structs import replace

from ..errors import MilabenchError, contained, reason_of
from ..events import Outcome
from .model import Failure, Report, Row

T = TypeVar("T")


def in_spite_of_broken(make: Callable[[Report], T], report: Report) -> tuple[Report, T]:
    """Make something of a report; return the report that it is made of, and what was made.

    A benchmark that breaks it becomes a failure, with the reason. If the report breaks it without
    any benchmark, the exception is raised.
    """
    try:
        return report, make(report)
    except (MilabenchError, OSError):
        raise
    except Exception:  # any error in a row; it is raised again unless one row is the cause
        whole = _without_broken(make, report)
        if whole is report:
            raise
        return whole, make(whole)


def _without_broken(make: Callable[[Report], object], report: Report) -> Report:
    for row in report.rows:
        errors: list[Exception] = []
        with contained(errors.append):
            make(report.only([row.name]))
        if errors:
            report = with_failure(report, row, errors[0])
    return report


def with_failure(report: Report, row: Row, error: Exception) -> Report:
    empty, failed = unreadable(row.name, row.weight, row.n, error)
    rest = report.only({"", *(each.name for each in report.rows if each is not row)})
    rows = tuple(empty if each is row else each for each in report.rows)
    return replace(rest, rows=rows, failures=(*rest.failures, failed))


def unreadable(name: str, weight: float, count: float, error: Exception) -> tuple[Row, Failure]:
    reason = f"no report can be made of it: {reason_of(error)}"
    row = Row.unmeasured(name, max(count, 1.0), weight, {}, count)
    return row, Failure(name, "", None, Outcome.FAILED, reason)
