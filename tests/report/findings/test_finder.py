"""How a finding is declared, and filled in from what its function yields."""

import math
from collections.abc import Iterator

from milabench_ddp.report.finding import Finding, Severity
from milabench_ddp.report.findings.finder import Finder, Found, finding


def test_a_finding_is_filled_in_from_its_declaration_and_its_evidence() -> None:
    @finding("note", "{place}: {number} is odd, as {{}} and {text}", "halve it", layer="loss")
    def odd(numbers: list[int]) -> Iterator[Found]:
        for number in numbers:
            if number % 2:
                yield Found(f"n{number}", {"number": number}, {"text": "{number}"})

    assert isinstance(odd, Finder)
    expected = []
    for number in (1, 3):
        sentence = f"n{number}: {number} is odd, as {{}} and {{number}}"
        shared = ("odd", Severity.NOTE, "halve it", "loss")
        expected.append(Finding(sentence, "", f"n{number}", {"number": number}, *shared))
    assert odd.findings([1, 2, 3]) == expected


def test_what_is_found_may_have_words_and_advice_of_its_own() -> None:
    @finding("warning", "{place}", "look at it")
    def broken(places: list[str]) -> Iterator[Found]:
        for place in places:
            yield Found(place, benchmark="b", sentence="{benchmark}: {place}!", advice="mend it")
        raise ValueError("too many")

    found, error = broken.findings(["here"])
    assert (found.sentence, found.advice, found.benchmark) == ("b: here!", "mend it", "b")
    assert (error.name, error.severity) == ("broken", Severity.ERROR)
    assert "the search for `broken` failed" in error.sentence


def test_what_would_be_a_quarter_faster_costs_a_fifth() -> None:
    @finding("warning", "", costs="faster")
    def slow(gains: list[float | None]) -> Iterator[Found]:
        for gain in gains:
            yield Found("", {"faster": gain})

    found = slow.findings([0.25, None, math.nan], weight=0.5)
    assert [each.cost for each in found] == [0.1, None, None]
    assert {each.kind for each in found} == {"slow"}


def test_a_part_in_brackets_is_said_if_all_of_it_is_known() -> None:
    @finding("note", "it is{what}[ on {place}][ at {clock:.0f} of {most} MHz][, {text}]")
    def state(words: dict[str, object]) -> Iterator[Found]:
        yield Found(str(words.pop("place", "")), {"clock": words.pop("clock")}, words)

    def said(clock: float, **words: object) -> str:
        (made,) = state.findings({"what": "", "clock": clock, **words})
        return made.sentence

    assert said(0.0, most=2) == "it is at 0 of 2 MHz"
    assert said(1.0, most=None, place="n1") == "it is on n1"
    assert said(math.nan, most=2, text="[{place}]") == "it is, [{place}]"
    assert said(1.0, text="") == "it is"
