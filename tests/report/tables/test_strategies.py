"""How models were spread over devices, and what stands out in it."""

from pathlib import Path

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.tables.strategies import strategies
from tests.support.result_files import end, job, rates, start, told, write


def test_the_kernel_of_attention_is_in_the_row(tmp_path: Path) -> None:
    model = {"mode": "ddp", "ranks": 2, "attention": "flash"}
    write(tmp_path, "gpt.0", job("gpt"), start(), rates([5.0] * 9), told(model=model), end())
    table = strategies(report_of([tmp_path]).rows)
    (row,) = table.rows
    shown = {column.name: value for column, value in zip(table.columns, row, strict=True)}
    assert shown["attention"] == "flash"


def test_widths_that_kernels_pad_are_warned_of(tmp_path: Path) -> None:
    for name, odd in (("wide", {}), ("odd", {"misaligned": "head 86, attention 516"})):
        model = {"mode": "tp", "ranks": 4} | odd
        write(tmp_path, f"{name}.0", job(name), start(), rates([5.0] * 9), told(model=model), end())
    found = [f for f in report_of([tmp_path]).findings if f.name == "misaligned_widths"]
    assert [finding.sentence for finding in found] == [
        "odd: widths are not multiples of 8, so kernels pad them or are slower: "
        "head 86, attention 516"
    ]
