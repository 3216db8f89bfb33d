"""Each number of a benchmark is declared once, and can be made of each benchmark."""

from pathlib import Path

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.document import benchmarks_of
from milabench_ddp.report.fields import BENCHMARK, IN_DOCUMENT, IN_EXPORT, ReportedBenchmark
from milabench_ddp.report.model import Row
from milabench_ddp.report.rank_fields import IN_DOCUMENT as RANK_IN_DOCUMENT
from milabench_ddp.report.rank_fields import IN_EXPORT as RANK_IN_EXPORT
from milabench_ddp.report.rank_fields import RANK
from milabench_ddp.report.tables.ledger_table import ranks_of
from tests.support.reported_runs import write_tables
from tests.support.result_files import RECORDED

REPORT = Path(__file__).parents[2] / "milabench_ddp/report"


def test_a_name_stands_once_in_a_record() -> None:
    for fields in (IN_DOCUMENT, IN_EXPORT, RANK_IN_DOCUMENT, RANK_IN_EXPORT):
        names = [each.name for each in fields]
        assert len(set(names)) == len(names)
    for words in ([each.sort for each in BENCHMARK], [each.metric for each in BENCHMARK]):
        known = [word for word in words if word]
        assert len(set(known)) == len(known)


def test_each_can_be_made_of_whatever_was_measured(tmp_path: Path) -> None:
    write_tables(tmp_path)
    for report in (report_of([RECORDED / "first"]), report_of([tmp_path])):
        for benchmark in benchmarks_of(report):
            assert all(each.of(benchmark) is not ... for each in BENCHMARK)
            for rank in ranks_of(benchmark.row):
                assert all(each.of(rank) is not ... for each in RANK)
    for each in BENCHMARK:
        each.of(ReportedBenchmark(Row.unmeasured("b", 1, 1.0, {})))


def test_what_shows_a_number_does_not_say_again_what_it_means() -> None:
    meanings = [each.meaning for each in (*BENCHMARK, *RANK) if len(each.meaning) > 30]
    for path in REPORT.rglob("*.py"):
        if path.name not in ("fields.py", "rank_fields.py"):
            text = path.read_text()
            assert [each for each in meanings if f'"{each}"' in text] == [], path
