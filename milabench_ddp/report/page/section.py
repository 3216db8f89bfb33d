"""The section of a benchmark: findings, charts, ranks, ledger, other tables, output, command."""

import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...table import Table, is_unknown, without_unknown
from ..charts.catalogue import MOST_BARS, ledger_chart
from ..charts.chart import Chart
from ..model import Failure, Report, Row
from ..sentences import failure_sentence
from ..tables import TABLES
from ..tables.ledger_table import HIDDEN, ITEMS, ledger
from ..tables.main_table import main_table
from ..tables.step_tables import every_rank
from .courses import DEVICES, courses_of
from .figures import WIDE, svg, svg_figure
from .finding_cards import LEDGER, MORE, OUTPUT, RANKS, card, place_of
from .html_table import html_table
from .markup import Anchors, Html, joined, tag
from .named import named_ranks
from .series import MOST_POINTS, Json, course_json

MS = "ms"  # the step: what takes part of its time is shaded by its share of it
SHADED_RANKS = {MS: MS, "p95_ms": MS, "wait_ms": MS, "own_ms": MS, "allocated": "allocated",
                "reserved": "reserved"}  # fmt: skip
SHADED_LEDGER = dict.fromkeys((MS, *ITEMS.values(), HIDDEN), MS)
SHADED_DEVICES = {name: name for name in ("peak_memory", "power W", "SM MHz", "memory MHz")}
FEWEST_DRAWN = 9  # ranks in the chart of a ledger
# Tables that have a place of their own, or whose one row is in the main table and the findings
ELSEWHERE = frozenset({"ranks", "ledger", "steps", "stragglers"})
LEGEND = (
    "Colour: how far a cell is from the median of its column, from 1, 2, 5, 10 and 20 % on (of a "
    "step, for times); orange is above it, blue below. ⚑: a finding names this rank."
)


class Block(NamedTuple):
    """A part of a section."""

    place: str  # to which findings link; empty for none
    title: str
    parts: tuple[Html, ...]


class Section:
    """What the page shows of a benchmark."""

    def __init__(
        self, report: Report, row: Row, anchors: Anchors, points: int, charts: Sequence[Chart] = ()
    ) -> None:
        """The section of a benchmark.

        Args:
            report: the report that it is of.
            row: the benchmark.
            anchors: the ids of benchmarks.
            points: of a series, at most.
            charts: those that are about this benchmark alone.
        """
        self.row = row
        self.id = anchors.of(row.name)
        self.findings = [each for each in report.findings if each.benchmark == row.name]
        self._failures = [each for each in report.failures if each.benchmark == row.name]
        self._anchors, self._charts = anchors, charts
        self._commands = [
            f"bash {shlex.quote(str(run.scripts[row.name]))}"
            for run in report.runs
            if row.name in run.scripts
        ]
        self._drawn_ranks = max(FEWEST_DRAWN, points * MOST_BARS // MOST_POINTS)
        self._ledger = ledger([row])
        named = named_ranks(row, self.findings)
        self._marked = {rank.id.name for rank in row.ranks if rank.id in named}
        self._marked |= {rank.id.label for rank in row.ranks if rank.id in named}
        found = (course_json(course, points) for course in courses_of(row, self.findings))
        self.courses: list[Json] = [course for course in found if course is not None]

    def body(self) -> Html:
        """The inside of the section.

        Findings stand in the block that shows what they are about, or else at the top.
        """
        blocks = [
            *self._figures(),
            *self._ranks(),
            *self._where_time_goes(),
            *(Block("", "", (svg_figure(chart),)) for chart in self._charts),
            *self._more(),
            *self._output(),
            *self._repeat(),
        ]
        cards: dict[str, list[Html]] = {block.place: [] for block in blocks}
        top: list[Html] = []
        for finding in self.findings:
            place = place_of(finding)
            there = cards[place] if place and place in cards else top
            there.append(card(finding, self._anchors))
        parts = [*top, self._facts()]
        for block in blocks:
            heading = [tag("h3", block.title)] if block.title else []
            inside = [*heading, *cards[block.place], *block.parts]
            id = f"{self.id}--{block.place}" if block.place else None
            parts.append(tag("div", *inside, id=id, class_="block"))
        return joined(parts)

    def _facts(self) -> Html:
        table = main_table([self.row])
        pairs = []
        for column, value in zip(table.columns[1:], table.rows[0][1:], strict=True):
            if not is_unknown(value):
                shown = column.text(value).strip()
                pairs.append(tag("div", tag("dt", column.name), tag("dd", shown)))
        summary = self.row.summary
        more = {"launches": summary.launches, "observations": summary.observations}
        for name, count in more.items():
            if count:
                pairs.append(tag("div", tag("dt", name), tag("dd", count)))
        return tag("dl", *pairs, class_="facts")

    def _figures(self) -> Iterator[Block]:
        """A place for each chart, which the page's script draws; those of devices together."""
        of_devices = []
        for course in self.courses:
            key = str(course["key"])
            figure = self._figure(course)
            if key.startswith(DEVICES):
                of_devices.append(figure)
            else:
                yield Block(key, "", (figure,))
        if of_devices:
            group = tag("div", *of_devices, class_="panels")
            yield Block(DEVICES, "Devices", (group,))

    def _figure(self, course: Json) -> Html:
        key = course["key"]
        caption = tag("figcaption", f"{course['title']}", id=f"{self.id}--{key}-name")
        return tag(
            "figure", caption, role="figure", aria_labelledby=f"{self.id}--{key}-name",
            data_course=key,
        )  # fmt: skip

    def _ranks(self) -> Iterator[Block]:
        if self.row.ranks:
            table = html_table(
                without_unknown(every_rank([self.row])), shaded=SHADED_RANKS, marked=self._marked,
                whole="milabench report RUN --table ranks",
            )  # fmt: skip
            yield Block(RANKS, "Ranks", (tag("p", LEGEND, class_="note"), table))

    def _where_time_goes(self) -> Iterator[Block]:
        if self._ledger:
            shown = html_table(
                self._ledger, shaded=SHADED_LEDGER, marked=self._marked,
                whole="milabench report RUN --table ledger",
            )  # fmt: skip
            chart = ledger_chart(self.row, self._ledger, self._drawn_ranks)
            note = tag("p", chart.description, class_="note")
            figure = tag("figure", svg(chart, WIDE), role="figure", aria_label=chart.title)
            yield Block(LEDGER, self._ledger.title, (note, figure, shown))

    def _more(self) -> Iterator[Block]:
        folded = []
        for name, make in TABLES.items():
            table = make([self.row]) if name not in ELSEWHERE else Table((), ())
            if table:
                option = tag("small", f" --table {name}")
                summary = tag("summary", table.title or name, option)
                shown = html_table(
                    table, shaded=SHADED_DEVICES, marked=self._marked,
                    whole=f"milabench report RUN --table {name}",
                )  # fmt: skip
                folded.append(tag("details", summary, shown))
        if folded:
            yield Block(MORE, "More tables", tuple(folded))

    def _output(self) -> Iterator[Block]:
        if self._failures:
            yield Block(OUTPUT, "Failures", tuple(map(failure, self._failures)))

    def _repeat(self) -> Iterator[Block]:
        if self._commands:
            yield Block("", "To repeat it", tuple(map(command, self._commands)))


def failure(failed: Failure) -> Html:
    """A failure; its last lines are folded."""
    parts = [tag("p", failure_sentence(failed))]
    if failed.lines:
        output = tag("pre", "\n".join(failed.lines), tabindex="0")
        parts.append(tag("details", tag("summary", "the last lines that it printed"), output))
    if failed.whole:
        parts.append(tag("p", "all of it: ", tag("code", failed.whole), class_="note"))
    return tag("div", *parts, class_="failure")


def command(words: str) -> Html:
    """A command that can be copied."""
    copy = tag("button", "copy", type="button", class_="copy", aria_label=f"copy: {words}")
    return tag("div", tag("code", words), copy, class_="command")
