import pytest

from milabench_ddp.report.node_verdict import NodeVerdict, Word, worst


@pytest.mark.parametrize(
    ("words", "gravest"),
    [
        (["pass"], "pass"),
        (["pass", "cannot tell", "pass"], "cannot tell"),
        (["fail", "pass", "cannot tell"], "fail"),
        (["cannot tell", "pass", "fail"], "fail"),
    ],
)
def test_one_node_decides_for_all(words: list[str], gravest: str) -> None:
    made = [NodeVerdict(f"n{k}", Word(word)) for k, word in enumerate(words)]
    assert worst(made) == gravest
