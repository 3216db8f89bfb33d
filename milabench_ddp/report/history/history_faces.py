"""The formats of a history: a function and a line in FACES."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter

from ...codec import encode_indented
from ...errors import count_text
from ...grouping import grouped
from ...render.blocks import Block, Line, Section, TableBlock
from ...render.text import text_of
from ...table import Column, Table, csv_text, table_from
from .history import CHANGE, DRIFT, TITLES, Change, History
from .history_document import CHANGES, changes_of, history_document
from .noise import FEWEST
from .run_points import span
from .tracks import Track


def history_blocks(history: History) -> Iterator[Block]:
    yield Line(_title(history), rest="  ")
    by_way = _by_title(history).items()
    yield Section(line for title, changes in by_way for line in _of_way(title, changes, history))
    yield Section([TableBlock(benchmarks_table(history))])
    yield Section(Line(f"({note})", rest=" ") for note in history.told_notes)


def _title(history: History) -> str:
    benchmarks = [track for track in history.tracks if track.device is None]
    devices = {track.device.key for track in history.tracks if track.device}
    runs = history.runs
    dates = span(runs[0], runs[-1])
    what = [count_text(len(runs), "run"), dates, count_text(len(benchmarks), "benchmark")]
    if devices:
        what.append(f"{count_text(len(devices), 'device')} with peers")
    return ", ".join(filter(None, what))


def _by_title(history: History) -> Mapping[str, Sequence[Change]]:
    changes = grouped((TITLES[each.way], each) for each in history.changes)
    return {"Slower": [], "Faster": []} | changes


def _of_way(title: str, changes: Sequence[Change], history: History) -> Iterator[Line]:
    """The lines of devices, then those of benchmarks."""
    subjects = grouped((_subject(each.track), each) for each in changes)
    counts = Counter(noun for noun, _ in subjects)
    told = ", ".join(count_text(count, noun) for noun, count in counts.items())
    yield Line(f"{title}: {told or 'none'}", rest="  ")
    for (_, name), found in subjects.items():
        device = found[-1].track.device
        yield _indented(2, f"{name} ({device.place})" if device and device.uuid else name)
        for change in sorted(found, key=attrgetter("ratio")) if device else found:
            benchmark = f"{change.track.benchmark}: " if device else ""
            yield _indented(4, f"{benchmark}{sentence(change, history)}")
            yield from _why(change)


def _subject(track: Track) -> tuple[str, str]:
    return ("device", track.device.key) if track.device else ("benchmark", track.benchmark)


def _indented(blanks: int, text: str) -> Line:
    return Line(text, " " * blanks, " " * (blanks + 2))


def _why(change: Change) -> Iterator[Line]:
    for difference in change.differs:
        yield _indented(6, f"differs: {difference}")
    if not change.differs and change.kind == CHANGE and change.track.device is None:
        yield _indented(6, "nothing that both runs recorded differs")


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
    if change.kind == DRIFT:
        return (
            f"{size}{peers} in run {change.run + 1} than in run {change.before + 1}, "
            "in changes too small to be told by themselves"
        )
    when = f" since run {change.run + 1} of {len(history.runs)}"
    rates = ""
    if change.track.device is None:
        rates = f": {change.old:,.5g} -> {change.new:,.5g} {change.track.unit}".rstrip()
    return f"{size}{peers}{when} ({history.runs[change.run].title}){rates}"


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
    *known, _ = (Column(field.name, "", field.of) for field in CHANGES.fields)
    differs = Column("differs", "", lambda of: "; ".join(of.change.differs))
    return table_from((*known, differs), changes_of(history))


def history_html(history: History) -> str:
    # imported here because it takes long to import
    from .history_page import history_page

    told = {}
    for title, changes in _by_title(history).items():
        told[title] = [_bullet(each, history) for each in changes]
    return history_page(history, _title(history), told, benchmarks_table(history))


def _bullet(change: Change, history: History) -> str:
    said = f"{change.track.benchmark}: {sentence(change, history)}"
    if change.track.device is not None:
        said = f"{change.track.device.key}, {said}"
    return "; ".join([said, *(f"differs: {each}" for each in change.differs)])


FACES: Mapping[str, Callable[[History], str]] = {
    "text": lambda history: text_of(history_blocks(history)),
    "csv": lambda history: csv_text(changes_table(history)),
    "json": lambda history: encode_indented(history_document(history)).decode(),
    "html": history_html,
}
