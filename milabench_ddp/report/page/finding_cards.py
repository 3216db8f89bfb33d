"""The findings as cards: the sentence, what to do, the numbers behind it, a link to its place."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ...codec import encode
from ..faces import MOST_ALIKE
from ..finding import Finding, Severity
from ..findings import FINDERS
from ..model import Report
from ..sentences import alike
from .courses import DEVICES, OWN, RATE, STEPS
from .markup import Anchors, Html, joined, link, tag

RANKS, LEDGER, MORE, OUTPUT = "ranks", "ledger", "more", "output"
WORDS: Mapping[str, str] = {  # of links to these places
    RATE: "its rate over time",
    STEPS: "its step times",
    OWN: "the ranks' own work",
    DEVICES: "its devices",
    RANKS: "its ranks",
    LEDGER: "its ledger",
    MORE: "its tables",
    OUTPUT: "its output",
}
SIGNS: Mapping[Severity, str] = {Severity.ERROR: "✕", Severity.WARNING: "▲", Severity.NOTE: "●"}


def all_findings(report: Report, anchors: Anchors) -> Html:
    """The findings of the report, the worst first; many that are alike are folded."""
    if not report.findings:
        return tag("p", "No findings: nothing stands out.")
    cards: list[Html] = []
    for severity in Severity:
        groups = list(alike(report, severity))
        made = [joined(_alike(group, anchors)) for group in groups]
        count = sum(map(len, groups))
        if severity is Severity.NOTE and count > MOST_ALIKE:
            summary = tag("summary", counted_words(severity, count))
            made = [tag("details", summary, *made)]
        cards += made
    return joined(cards)


def _alike(found: Sequence[Finding], anchors: Anchors) -> list[Html]:
    cards = [card(finding, anchors, is_linked=True) for finding in found]
    if len(cards) <= MOST_ALIKE:
        return cards
    more = tag("summary", f"{len(cards) - MOST_ALIKE} more like these ({found[0].name})")
    return [*cards[:MOST_ALIKE], tag("details", more, *cards[MOST_ALIKE:])]


def card(finding: Finding, anchors: Anchors, *, is_linked: bool = False) -> Html:
    """A finding.

    Args:
        finding: the finding.
        anchors: the ids of benchmarks.
        is_linked: whether to link to the place that it is about; not where it stands there.
    """
    parts = [badge(finding.severity), " ", tag("span", finding.sentence, class_="sentence")]
    if is_linked and finding.benchmark in anchors:
        place = place_of(finding)
        address = anchors.of(finding.benchmark) + (f"--{place}" if place else "")
        parts += [" → ", link(address, WORDS.get(place, "this benchmark"))]
    lines = [tag("p", *parts)]
    if finding.advice:
        lines.append(tag("p", finding.advice, class_="advice"))
    if finding.evidence:
        rows = [_evidence(key, value) for key, value in finding.evidence.items()]
        summary = tag("summary", "the numbers behind it")
        lines.append(tag("details", summary, tag("dl", *rows), class_="evidence"))
    return tag("div", *lines, class_=f"finding {finding.severity}")


def _evidence(key: str, value: object) -> Html:
    shown = value if isinstance(value, str) else encode(value).decode(errors="replace")
    return joined([tag("dt", key.replace("_", " ")), tag("dd", shown)])


def place_of(finding: Finding) -> str:
    """The place in its benchmark's section; empty for its top."""
    return FINDERS[finding.name].section if finding.name in FINDERS else ""


def badge(severity: Severity, count: int | None = None) -> Html:
    """A severity by sign, word and colour."""
    words = f"{SIGNS[severity]} {severity if count is None else counted_words(severity, count)}"
    return tag("span", words, class_=f"badge {severity}")


def counted_words(severity: Severity, count: int) -> str:
    """``2 warnings``."""
    return f"{count} {severity}{'s' * (count != 1)}"


def badges(findings: Iterable[Finding]) -> list[Html]:
    """A badge for each severity that has findings, with their number."""
    counts = Counter(finding.severity for finding in findings)
    return [badge(severity, counts[severity]) for severity in Severity if counts[severity]]
