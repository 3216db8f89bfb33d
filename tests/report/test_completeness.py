"""Of how many ranks a table is; the rest is in ``findings/test_missing_ranks.py``."""

from pathlib import Path

from msgspec.structs import replace

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.completeness import jobs_of, of_how_many
from milabench_ddp.report.model import Row
from tests.support.result_files import config, end, job, rates, start, steps, told, write


def test_what_is_not_known_is_not_missing() -> None:
    row = Row.unmeasured("b", 1, 1.0, {})
    assert (of_how_many([]), of_how_many([row])) == ((), ())


def test_each_benchmark_has_its_own_count(tmp_path: Path) -> None:
    begun = "".join(told(rank, device={"kind": "cpu"}) for rank in range(3))
    measured = "".join(steps(rank, [1.0] * 9) for rank in range(2))
    write(tmp_path, "a.D0", config("a", device=0), start(), rates([1.0] * 9), end())
    write(tmp_path, "b.0", job("b", 3), start(), begun, measured, rates([1.0] * 9, rank=0), end())
    alone, several = report_of([tmp_path]).rows
    assert list(jobs_of(alone.processes)) == []
    (made,) = jobs_of(several.processes)
    assert (made.name, made.planned, made.silent, made.stepless) == ("b.0", 3, [], [2])
    renamed = replace(several, name="c")
    assert of_how_many([alone, several, renamed]) == (
        "(of a part of the ranks: b 2 of 3, c 2 of 3)",
    )
