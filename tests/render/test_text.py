from milabench_ddp.render.blocks import Findings, Section
from milabench_ddp.render.text import text_of


def test_brief_sentences_stand_side_by_side_and_long_ones_are_cut() -> None:
    brief = Findings(
        "failed",
        ("a: short", "b: " + "x" * 40, "c: 漢字漢字漢字漢字漢字漢字漢字漢字"),
        in_columns=True,
    )
    assert text_of([Section([brief])], 60).splitlines() == [
        "failed   a: short                  c: 漢字漢字漢字漢字漢...",
        "         b: xxxxxxxxxxxxxxxxxx...",
    ]


def test_the_advice_stands_below_its_sentences() -> None:
    found = Findings("slow", ("one", "two"), "look at them")
    assert text_of([found], 60).splitlines() == [
        "slow     one",
        "slow     two",
        "         -> look at them",
    ]
