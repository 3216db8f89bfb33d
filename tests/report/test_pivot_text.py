from dataclasses import replace
from pathlib import Path

from milabench_ddp.report.build import report_of
from milabench_ddp.report.model import NAN
from milabench_ddp.report.pivot import Block, Cell, Pivot, pivot
from milabench_ddp.report.pivot_text import pivot_csv, pivot_text
from tests.support.result_files import config, end, rates, start, write

CELLS = {
    (("a", "x"), "1"): Cell("12", 12.0),
    (("a", "x"), "2"): Cell("oom", NAN, "no memory"),
    (("b", ""), "2"): Cell("0.93 ±0.02", 0.93, "why", 0.02),
}


def table(*titles: str) -> Pivot:
    blocks = tuple(Block(title, CELLS) for title in titles)
    skipped = (("c", "it needs 8 GPUs"),)
    named = "model" if titles[0] else ""
    return Pivot("m", "a metric", named, ("first", "second"), " ", ("1", "2"), blocks, skipped)


def test_one_block() -> None:
    assert pivot_text(table("")).splitlines() == [
        "m: a metric",
        "",
        "first second   1               2",
        "------------  --  --------------",
        "a x           12         oom [1]",
        "b              -  0.93 ±0.02 [2]",
        "",
        "[1] no memory",
        "[2] why",
        "",
        "skipped: c: it needs 8 GPUs",
    ]


def test_a_note_has_one_number_in_all_blocks() -> None:
    lines = pivot_text(table("one", "two")).splitlines()
    assert [line for line in lines if line.endswith(":")] == ["one:", "two:"]
    assert sum("oom [1]" in line for line in lines) == 2
    assert [line for line in lines if line.startswith("[")] == ["[1] no memory", "[2] why"]


def test_csv() -> None:
    assert pivot_csv(table("")).splitlines() == [
        "first,second,1,1_spread,2,2_spread",
        "a,x,12.0,,oom,",
        "b,,-,,0.93,0.02",
    ]
    assert pivot_csv(table("one", "two")).splitlines()[3] == "two,a,x,12.0,,oom,"


def test_a_value_of_some_launches_says_so(tmp_path: Path) -> None:
    """One of two launches failed: the value is that of both, and the note tells."""
    for repeat, code in ((0, 0), (1, 3)):
        tag = ["b", f"R{repeat}", "D0"]
        ended = end(code, outcome="failed" if code else "ok", reason="exit status 3")
        write(tmp_path, ".".join(tag), config("b", device=0, tag=tag), start(), rates([4.0]), ended)
    made = pivot_text(pivot(report_of([tmp_path]), "throughput"))
    assert "b          4 [1]\n" in made
    assert "[1] 1 of 2 launches did not end ok: failed: exit status 3\n" in made


def test_benchmarks_that_are_skipped_for_one_reason_share_a_line() -> None:
    why = "disabled by the preset small"
    skipped = [(f"b{k}", f"{why} (config/ddp.yaml:{k})") for k in range(5)]
    made = replace(table(""), skipped=(*skipped, ("c", "it needs 8 GPUs")))
    assert pivot_text(made).splitlines()[-2:] == [
        f"skipped: 5 (b0, b1, b2, ...): {why}",
        "skipped: c: it needs 8 GPUs",
    ]
