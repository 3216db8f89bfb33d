"""What a score is made of, as a table."""

from pathlib import Path

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.tables.score_table import OF_BASELINE, scores
from tests.support.devices_that_end import devices
from tests.support.result_files import write_state


def test_each_benchmark_of_the_suite(tmp_path: Path) -> None:
    for name, ends in (("base", ".."), ("half", ".F")):
        write_state(tmp_path / name, "ok", {"b": "ok"})
        devices(tmp_path / name, ends)
    alone = scores(report_of([tmp_path / "half"]))
    assert [column.name for column in alone.columns] == ["benchmark", "weight", "score", "unit"]
    assert alone.rows == (("b", 1.0, 10.0, "items/s"),)
    relative = scores(report_of([tmp_path / "half"], baseline=tmp_path / "base"))
    assert relative.rows == (("b", 1.0, 0.5),)
    assert relative.notes == (OF_BASELINE,)
