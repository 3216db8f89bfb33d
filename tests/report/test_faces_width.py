"""No line of a report is wider than the terminal, whatever is in it."""

import re
from pathlib import Path

from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from milabench_ddp.config.schema import SkippedBenchmark
from milabench_ddp.report.faces import report_text
from milabench_ddp.report.finding import Finding, Severity
from milabench_ddp.report.model import NAN, Failure, Report, Row
from milabench_ddp.report.run_info import RunInfo
from milabench_ddp.report.score import Score

word = st.text(
    st.characters(categories=["L", "N"]) | st.sampled_from("/._-`±"), min_size=1, max_size=60
)
sentence = st.lists(word, min_size=1, max_size=40).map(" ".join)
number = st.floats(0, 1e9) | st.just(NAN)
HEAD = re.compile(r"^(\w+: |Verdict|Score|Run|State|Time|Machine|Preset|  (error|warning)| *->)? *")


def row(name: str, unit: str, numbers: list[float]) -> Row:
    perf, sem, std, memory, score = numbers
    return Row(name, 0, 1, 8, perf, sem, std, memory, score, 1.0, unit=unit)


rows = st.builds(row, word, word, st.lists(number, min_size=5, max_size=5))
findings = st.builds(
    Finding, sentence, name=st.sampled_from("ab"), severity=st.sampled_from(Severity),
    advice=sentence,
)  # fmt: skip
skipped = st.builds(SkippedBenchmark, word, sentence)
runs = st.builds(
    RunInfo, word, word.map(Path), st.none() | sentence, host=sentence, devices=sentence,
    preset=word, waiting=st.lists(word, max_size=9).map(tuple),
    skipped=st.lists(skipped, max_size=3).map(tuple),
)  # fmt: skip
failures = st.builds(
    Failure, word, word, word, word, sentence, st.none() | st.integers(0, 9),
    st.lists(sentence, max_size=3).map(tuple), st.none() | word.map(Path),
)  # fmt: skip
reports = st.builds(
    Report, st.just(False), st.lists(runs, min_size=1, max_size=2).map(tuple),
    st.lists(rows, max_size=4).map(tuple), st.lists(failures, max_size=2).map(tuple),
    st.lists(findings, max_size=4).map(tuple),
    score=st.builds(Score, number, sentence, st.none() | word.map(Path)),
)  # fmt: skip


@settings(max_examples=60, phases=[Phase.reuse, Phase.generate])  # no shrinking: a line is short
@given(reports, st.sampled_from([60, 80, 100, 140]))
def test_no_line_is_too_wide(report: Report, width: int) -> None:
    """But those of a single word, as a path or a command in backquotes: they can be pasted."""
    for line in report_text(report, width).splitlines():
        said = HEAD.sub("", line.strip())
        is_whole = len(said.split()) <= 1 or "`" in said
        assert cell_len(line) <= width or is_whole, line
