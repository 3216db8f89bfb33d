from milabench_ddp.render.text import text_of
from milabench_ddp.report.faces import MOST_ALIKE, errors_and_warnings, notes, report_text
from milabench_ddp.report.finding import Finding, Severity
from milabench_ddp.report.model import Report, Row

ROWS = (Row.unmeasured("b", 0, 1.0, {}),)


def report(*findings: Finding) -> Report:
    return Report(False, (), ROWS, findings=findings)


def test_they_stand_first_with_what_to_do_and_are_cut_where_many_are_alike() -> None:
    broken = Finding("GPU 3 is lost", name="lost", severity=Severity.ERROR, advice="see dmesg")
    slow = [Finding(f"w{k}", name="slow", advice="look") for k in range(MOST_ALIKE + 3)]
    other = Finding("last", name="other")
    noted = [Finding(f"n{k}", severity=Severity.NOTE, advice="not told") for k in range(3)]
    made = report(broken, *slow, other, *noted)
    assert text_of(errors_and_warnings(made), 80).splitlines() == [
        "Findings: 1 error, 9 warnings, 3 notes (below the tables)",
        "  error    GPU 3 is lost",
        "           -> see dmesg",
        *[f"  warning  w{k}" for k in range(MOST_ALIKE)],
        "           ... and 3 more like these: --table findings has all",
        "           -> look",
        "  warning  last",
    ]
    assert "\n\nNotes\n-----\nn0\n  ... and 2 more like this: " in report_text(made)
    assert text_of(notes(made, most=9), 80).splitlines() == ["n0", "n1", "n2"]
    assert "\n\nFindings: none\n\nbenchmark" in report_text(report())


def test_long_ones_are_wrapped_under_their_beginning() -> None:
    advice = "set `nvidia-smi -i 5 -pl 700`, then look at its cooling"
    slow = Finding("gpt.0: rank 5 is slower than its peers, and 7 ranks wait for it", advice=advice)
    assert text_of(errors_and_warnings(report(slow)), 50).splitlines()[1:] == [
        "  warning  gpt.0: rank 5 is slower than its peers,",
        "           and 7 ranks wait for it",
        "           -> set `nvidia-smi -i 5 -pl 700`, then",
        "              look at its cooling",
    ]
