from milabench_ddp.render.blocks import Findings
from milabench_ddp.render.text import text_of


def test_the_advice_stands_below_its_sentences() -> None:
    found = Findings("slow", ("one", "two"), "look at them")
    assert text_of([found], 60).splitlines() == [
        "slow     one",
        "slow     two",
        "         -> look at them",
    ]
