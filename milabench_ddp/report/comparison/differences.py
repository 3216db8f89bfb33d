"""What both sides of a comparison differ in: software, hardware, settings, nodes, clocks."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from ...errors import shown_names
from ...grouping import grouped
from ...results.records import Record, Run
from ..clocks import sm_clock
from ..pooling import Difference, differences_of, told_text
from .comparison_model import SideDifference
from .sides import Side

SHOWN = 3  # benchmarks whose settings differ in the same way
CLOCKS_APART = 0.01  # of the mean SM clock in the measured steps


def side_differences(before: Side, after: Side) -> list[SideDifference]:
    """What both sides differ in; what only the runs of one side differ in is not among it."""
    shared = [name for name in before.rows if name in after.rows]
    found = list(_recorded(before, after, shared))
    found += _nodes(before, after)
    return found + list(_clocks(before, after, shared))


def _recorded(before: Side, after: Side, names: Sequence[str]) -> Iterator[SideDifference]:
    folders = {str(run.path) for run in before.runs}, {str(run.path) for run in after.runs}
    found = []
    for difference in differences_of([*before.runs, *after.runs]):
        first, second = (_values(difference, side) for side in folders)
        if first and second and first != second:
            name, key = _setting(difference.field, names)
            found.append(((key, first, second), name))
    for (key, first, second), of in grouped(found).items():
        those = shown_names([name for name in of if name], SHOWN)
        yield SideDifference(f"{those}: {key}" if those else key, first, second)


def _values(difference: Difference, folders: set[str]) -> str:
    having = difference.runs.items()
    return " and ".join(sorted(value for value, runs in having if folders.intersection(runs)))


def _setting(field: str, names: Sequence[str]) -> tuple[str, str]:
    """The benchmark whose setting it is, and the setting; no benchmark for a fact of the run."""
    for name in sorted(names, key=len, reverse=True):
        if field.startswith(f"{name}."):
            return name, field.removeprefix(f"{name}.")
    return "", field


def _nodes(before: Side, after: Side) -> Iterator[SideDifference]:
    for field, of in (("nodes", _node), ("GPUs", _gpus)):
        first, second = _told(before.runs, of), _told(after.runs, of)
        if first and second and first != second:
            yield SideDifference(field, shown_names(first, SHOWN), shown_names(second, SHOWN))
            return


def _told(runs: Sequence[Run], of: Callable[[Record], Iterable[str]]) -> list[str]:
    found = {value for run in runs for record in run.records for value in of(record)}
    return sorted(found - {""})


def _node(record: Record) -> Iterator[str]:
    yield told_text(record.meta, "os", "nodename") or record.node


def _gpus(record: Record) -> Iterator[str]:
    for device in record.indices:
        yield str(record.gpu(device).get("uuid") or "")


def _clocks(before: Side, after: Side, names: Sequence[str]) -> Iterator[SideDifference]:
    apart = []
    for name in names:
        first, second = (sm_clock(side.rows[name].measuring) for side in (before, after))
        if abs(second - first) > CLOCKS_APART * first:
            apart.append(((f"{first:.0f} MHz", f"{second:.0f} MHz"), name))
    for values, of in grouped(apart).items():
        yield SideDifference(f"{shown_names(of, SHOWN)}: mean SM clock", *values)
