from milabench_ddp.report.model import Report
from milabench_ddp.report.node_verdict import NodeVerdict, Word
from milabench_ddp.report.tables.verdicts_table import verdicts
from milabench_ddp.table import text_lines

FAILS = NodeVerdict(
    "n1", Word.FAIL, ("its fan", "its link"), "isolate", "flops", "device 3", 80.0, "TFLOP/s",
    100.0, 0.2, 0.045,
)  # fmt: skip


def lines(*nodes: NodeVerdict) -> list[str]:
    return list(text_lines(verdicts(Report(False, (), (), verdicts=nodes))))


def test_each_node_has_a_row() -> None:
    head, first, second = lines(FAILS, NodeVerdict("n2", Word.PASS))[2:]
    assert [cell.strip() for cell in head.split("|")] == [
        *("node", "verdict", "why", "what to do", "benchmark", "place", "value", "peers", "unit"),
        *("lower", "smallest defect"),
    ]
    assert [cell.strip() for cell in first.split("|")] == [
        *("n1", "fail", "its fan; its link", "isolate", "flops", "device 3", "80", "100"),
        *("TFLOP/s", "20.0%", "4.5%"),
    ]
    assert [cell.strip() for cell in second.split("|")][:2] == ["n2", "pass"]


def test_what_no_node_has_is_left_out() -> None:
    head, *_ = lines(NodeVerdict("n2", Word.PASS))[2:]
    assert [cell.strip() for cell in head.split("|")] == ["node", "verdict", "why"]
