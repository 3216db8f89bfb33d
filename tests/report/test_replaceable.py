"""What milabench did not write is not replaced, unless someone says so."""

from collections.abc import Callable
from pathlib import Path

import pytest

from milabench_ddp.errors import RunDirError
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.export import write_tables
from milabench_ddp.report.model import Report
from milabench_ddp.report.page.page_file import write_page
from milabench_ddp.report.plots import write_charts
from milabench_ddp.report.replaceable import check_replaceable
from milabench_ddp.report.timeline import write_timeline
from tests.support.trained_ranks import trained

THESIS = b"the work of a day\n"
Write = Callable[[Report, Path, bool], object]


def tables(kind: str) -> Write:
    def write(report: Report, path: Path, overwrite: bool) -> object:
        runs = [str(run.path) for run in report.runs]
        return write_tables(runs, kind, {"ranks": path}, overwrite=overwrite)

    return write


WRITERS: dict[str, Write] = {
    "timeline.json": lambda *given: write_timeline(given[0], given[1], overwrite=given[2]),
    "page.html": lambda *given: write_page(given[0], given[1], overwrite=given[2]),
    "b.ledger.svg": lambda *given: write_charts(given[0], given[1].parent, overwrite=given[2]),
    "ranks.csv": tables("csv"),
    "ranks.parquet": tables("parquet"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("runs") / "one"
    trained(2).write(folder)
    return report_of([folder])


@pytest.mark.parametrize("name", WRITERS)
def test_only_our_own_files_are_replaced(made: Report, tmp_path: Path, name: str) -> None:
    path, write = tmp_path / name, WRITERS[name]
    path.write_bytes(THESIS)
    with pytest.raises(RunDirError, match=f"{name} exists, and milabench did not write it"):
        write(made, path, False)
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [(name, THESIS)]
    write(made, path, True)
    ours = path.read_bytes()
    assert ours != THESIS
    write(made, path, False)
    assert path.read_bytes() == ours
    path.write_bytes(b"")
    write(made, path, False)
    assert path.read_bytes() == ours


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_of_another_kind_is_not_ours(made: Report, tmp_path: Path, name: str) -> None:
    other = next(each for each in reversed(WRITERS) if each != name)
    (tmp_path / "in").mkdir()
    WRITERS[other](made, tmp_path / "in" / other, False)
    path = tmp_path / name
    (tmp_path / "in" / other).replace(path)
    with pytest.raises(RunDirError, match="add --overwrite"):
        WRITERS[name](made, path, False)


def test_a_png_alone_is_not_ours(made: Report, tmp_path: Path) -> None:
    (tmp_path / "b.ledger.png").write_bytes(THESIS)
    with pytest.raises(RunDirError, match=r"b\.ledger\.png exists"):
        write_charts(made, tmp_path)


def test_what_is_no_file_is_written_to() -> None:
    check_replaceable(Path("/dev/null"), "anything")
