"""What a reader sees first."""

from milabench_ddp.render.text import text_of
from milabench_ddp.report.brief import broken, checked, warnings
from milabench_ddp.report.faces import report_text
from milabench_ddp.report.finding import Checked, Finding, Severity
from milabench_ddp.report.model import Report, Row

ROWS = (Row.unmeasured("b", 0, 1.0, {}),)


def report(*findings: Finding, checks: tuple[Checked, ...] = ()) -> Report:
    return Report(False, (), ROWS, findings=findings, checks=checks)


def test_errors_come_first_and_what_is_alike_is_one_line_with_its_count() -> None:
    lost = Finding("GPU 3 is lost", name="lost", severity=Severity.ERROR, advice="see dmesg")
    slow = [Finding(f"b{k}: w", f"b{k % 4}", name="slow", kind="slow") for k in range(8)]
    few = [Finding(f"f{k}", name="few", kind="unsure", advice="look") for k in range(2)]
    made = report(lost, *slow, Finding("last", name="other"), *few)
    assert text_of([*broken(made), *warnings(made)], 80).splitlines() == [
        "error    GPU 3 is lost",
        "         -> see dmesg",
        "slow     b0: w (7 more like it, in 4 benchmarks: --table findings)",
        "warning  last",
        "unsure   f0",
        "unsure   f1",
        "         -> look",
    ]
    assert report_text(made, 80).index("GPU 3 is lost") < report_text(made, 80).index("b0: w")


def test_of_many_benchmarks_the_sentence_has_the_number_of_each() -> None:
    found = [
        Finding("long", f"gpt-{k}", evidence={"std": k / 10}, name="unstable") for k in (5, 4, 3)
    ]
    (told,) = next(iter(warnings(report(*found)))).sentences
    assert told.endswith("gpt-5 50%, gpt-4 40%, gpt-3 30%")


def test_a_device_that_is_slow_in_many_benchmarks_is_named_in_one_line() -> None:
    slower = {"b": 0.05, "c": 0.041}
    found = [
        Finding("long", name, "GPU 3", {"slower": share}, "slow_device", kind="slow")
        for name, share in slower.items()
    ]
    (told,) = next(iter(warnings(report(*found)))).sentences
    assert told.endswith("in 2 benchmarks: GPU 3 5.0% (b), GPU 3 4.1% (c)")


def test_long_sentences_are_wrapped_under_their_beginning() -> None:
    advice = "set `nvidia-smi -i 5 -pl 700`, then look at its cooling"
    slow = Finding("gpt.0: rank 5 is slower than its peers, and 7 ranks wait for it", advice=advice)
    assert text_of(warnings(report(slow)), 50).splitlines() == [
        "warning  gpt.0: rank 5 is slower than its peers,",
        "         and 7 ranks wait for it",
        "         -> set `nvidia-smi -i 5 -pl 700`, then",
        "            look at its cooling",
    ]


def test_what_was_looked_for_is_told_where_it_was_not_found() -> None:
    counts = {"a": 2, "b": 8, "c": 4}
    made = report(
        checks=(
            Checked("slow ranks", "slow_rank", 0, counts, {"10 steps": ("d",)}),
            Checked("losses that rise", "loss", 0, {"a": 1}, {}),
            Checked("waits", "waits", 3, {"a": 1}, {"10 steps": ("e",)}),
            Checked("lost devices", "lost", 0, {}, {"no readings": ("",)}),
        )
    )
    assert text_of(checked(made), 80).splitlines() == [
        "Checked  nothing found: slow ranks (2 to 8 in 3 benchmarks), losses that rise (1",
        "         in a)",
        "         not possible: slow ranks in d, waits in e: 10 steps; lost devices: no",
        "         readings",
    ]
    assert not text_of(checked(report()), 80).strip()
