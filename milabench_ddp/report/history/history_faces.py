"""The formats of a history: a function and a line in FACES."""

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields

from ...codec import encode_indented
from ...fitted import fitted_lines
from ...table import Column, Table, csv_text
from ...wrapped import wrapped
from .history import CHANGE, DRIFT, TITLES, Change, History
from .history_document import ChangeReport, change_report, history_document
from .noise import FEWEST
from .run_points import Device, RunPoint

WIDTH = 100  # columns


def history_text(history: History, width: int = WIDTH) -> str:
    """For people: what got worse, then what got better, each benchmark, and the notes.

    Args:
        history: what was found.
        width: of its lines, in columns; words that are wider stay whole.
    """
    lines: list[str] = []
    for line in _head(history):
        indent = " " * (len(line) - len(line.lstrip()))
        lines += wrapped(line.strip(), width, indent, f"{indent}  ")
    lines += ["", *fitted_lines(benchmarks_table(history), width), ""]
    for note in history.told_notes:
        lines += wrapped(f"({note})", width, rest=" ")
    return "\n".join(lines) + "\n"


def _title(history: History) -> str:
    runs = history.runs
    span = " to ".join(dict.fromkeys(filter(None, (_date(runs[0]), _date(runs[-1])))))
    benchmarks = [track for track in history.tracks if track.device is None]
    devices = {track.device.key for track in history.tracks if track.device}
    what = [_count(len(runs), "run"), span, _count(len(benchmarks), "benchmark")]
    if devices:
        what.append(f"{_count(len(devices), 'device')} with peers")
    return ", ".join(filter(None, what))


def _head(history: History) -> Iterator[str]:
    yield _title(history)
    yield ""
    for title, found in _by_way(history).items():
        yield from _section(title, found, history)


def _by_way(history: History) -> dict[str, list[Change]]:
    """The changes by the title of the way in which they lead; of those back, only where any is."""
    found: dict[str, list[Change]] = {"Slower": [], "Faster": []}
    for change in history.changes:
        found.setdefault(TITLES[change.way], []).append(change)
    return found


def _section(title: str, changes: Sequence[Change], history: History) -> Iterator[str]:
    if not changes:
        yield f"{title}: none"
        return
    devices, benchmarks = _by_device(changes), _by_benchmark(changes)
    counts = []
    for kind, count in (("device", len(devices)), ("benchmark", len(benchmarks))):
        if count:
            counts.append(_count(count, kind))
    yield f"{title}: {', '.join(counts)}"
    for device, found in devices.items():
        yield f"  {device.key}" + (f" ({device.place})" if device.uuid else "")
        for change in found:
            yield f"    {change.track.benchmark}: {sentence(change, history)}"
            yield from _why(change)
    for name, found in benchmarks.items():
        yield f"  {name}"
        for change in found:
            yield f"    {sentence(change, history)}"
            yield from _why(change)


def _why(change: Change) -> Iterator[str]:
    if change.differs:
        for difference in change.differs:
            yield f"      differs: {difference}"
    elif change.kind == CHANGE and change.track.device is None:
        yield "      nothing that both runs recorded differs"


def _by_device(changes: Sequence[Change]) -> dict[Device, list[Change]]:
    found: dict[str, list[Change]] = defaultdict(list)
    for change in changes:
        if change.track.device is not None:
            found[change.track.device.key].append(change)
    by_device = {}
    for several in found.values():
        device = several[-1].track.device
        if device is not None:
            by_device[device] = sorted(several, key=lambda each: each.ratio)
    return by_device


def _by_benchmark(changes: Sequence[Change]) -> dict[str, list[Change]]:
    found: dict[str, list[Change]] = defaultdict(list)
    for change in changes:
        if change.track.device is None:
            found[change.track.benchmark].append(change)
    return found


def sentence(change: Change, history: History) -> str:
    """How much slower or faster, since when: ``4.0% slower (3.6% to 4.4%) since run 30 of 40``."""
    ends = sorted(abs(1 - end) for end in (change.low, change.high))
    if (change.low - 1) * (change.high - 1) < 0:  # the interval has no change in it
        ends[0] = -ends[0]
    how = "slower" if change.new < change.old else "faster"
    size = f"{abs(1 - change.ratio):.1%} {how} ({ends[0]:.1%} to {ends[1]:.1%})"
    peers = ""
    if change.track.device is not None:
        peers = " than its peer" if change.track.peers == 1 else " than its peers"
    last = history.runs[change.run]
    if change.kind == DRIFT:
        return (
            f"{size}{peers} in run {change.run + 1} than in run {change.before + 1}, "
            "in changes too small to be told by themselves"
        )
    when = f" since run {change.run + 1} of {len(history.runs)}"
    where = ", ".join(filter(None, (last.name, _date(last))))
    rates = ""
    if change.track.device is None:
        rates = f": {change.old:,.5g} -> {change.new:,.5g} {change.track.unit}".rstrip()
    return f"{size}{peers}{when} ({where}){rates}"


def _date(run: RunPoint) -> str:
    if run.started is None:
        return ""
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(run.started))


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"


def benchmarks_table(history: History) -> Table:
    """A row for each benchmark: its level in the first runs and in the last, and its changes.

    Of a benchmark with too few runs, they are the rates of the first run and of the last.
    """
    columns = (
        Column("benchmark"),
        Column("runs", "d"),
        Column("first", ",.5g"),
        Column("last", ",.5g"),
        Column("unit", unknown=""),
        Column("change", "+.1%"),
        Column("since run", right=True),
    )
    rows = []
    for track in history.tracks:
        if track.device is not None:
            continue
        told = [each for each in history.changes if each.track is track]
        since = sorted(each.run + 1 for each in told if each.kind != DRIFT)
        whole = track.changes.whole
        levels = [math.exp(whole.before), math.exp(whole.after)]
        if len(track.runs) < FEWEST:
            rates = history.rates(track)
            levels = [rates[0], rates[-1]]
        change = math.expm1(whole.size) if told else math.nan
        places = ", ".join(map(str, since))
        rows.append((track.benchmark, len(track.runs), *levels, track.unit, change, places))
    return Table(columns, tuple(rows))


def changes_table(history: History) -> Table:
    """A row for each change, the worse ones first."""
    columns = tuple(Column(field.name) for field in fields(ChangeReport))
    rows = []
    for change in history.changes:
        values = vars(change_report(change, history)) | {"differs": "; ".join(change.differs)}
        rows.append(tuple(values[column.name] for column in columns))
    return Table(columns, tuple(rows))


def history_csv(history: History) -> str:
    return csv_text(changes_table(history))


def history_json(history: History) -> str:
    """Everything, as ``docs/reference/history.schema.json`` describes it."""
    return encode_indented(history_document(history)).decode()


def history_html(history: History) -> str:
    # imported here because it takes long to import
    from .history_page import history_page

    told = {}
    for title, found in _by_way(history).items():
        told[title] = [_bullet(each, history) for each in found]
    return history_page(history, _title(history), told, benchmarks_table(history))


def _bullet(change: Change, history: History) -> str:
    said = f"{change.track.benchmark}: {sentence(change, history)}"
    if change.track.device is not None:
        said = f"{change.track.device.key}, {said}"
    return "; ".join([said, *(f"differs: {each}" for each in change.differs)])


FACES: Mapping[str, Callable[[History], str]] = {
    "text": history_text,
    "csv": history_csv,
    "json": history_json,
    "html": history_html,
}
