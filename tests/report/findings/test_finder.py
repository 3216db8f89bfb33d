from milabench_ddp.report.finding import Finding, Findings, Severity
from milabench_ddp.report.findings.finder import note, warning


def test_a_finder_fills_in_what_all_its_findings_share() -> None:
    def odd(numbers: list[int]) -> Findings:
        for number in numbers:
            if number % 2:
                yield Finding(f"{number} is odd", evidence={"number": number})

    found = list(note(odd, "halve it").findings("odd", [1, 2, 3]))
    assert [(each.name, each.severity, each.advice) for each in found] == [
        ("odd", Severity.NOTE, "halve it")
    ] * 2
    assert [each.sentence for each in found] == ["1 is odd", "3 is odd"]
    assert [each.severity for each in warning(odd).findings("odd", [1])] == [Severity.WARNING]
