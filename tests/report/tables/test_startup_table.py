from pathlib import Path

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.tables import TABLES
from tests.support.result_files import end, job, start, told, write


def run_of(folder: Path, late: float, ranks: tuple[int, ...] = (0, 1, 2, 3)) -> Path:
    """Ranks of which one imports for longer."""
    lines = [job("b", len(ranks)), start()]
    for rank in ranks:
        own = 5.0 + (late if rank == 2 else 0.0)
        parts = {"spawn": 1.0, "import": own, "process_group": 5.5 + late - own}
        lines.append(told(rank, startup={**parts, "build": 1.5, "first_step": 0.25}))
    write(folder, "b.0", *lines, end())
    return folder


def test_each_part_with_its_slowest_rank(tmp_path: Path) -> None:
    table = TABLES["startup"](report_of([run_of(tmp_path, 3.0)]).rows)
    assert table.rows == (
        ("b", "spawn", 1.0, 1.0, "rank 0"),
        ("b", "import", 5.0, 8.0, "rank 2"),
        ("b", "waiting for ranks", 3.0, 3.0, "rank 0"),
        ("b", "process group", 0.5, 0.5, "rank 0"),
        ("b", "build", 1.5, 1.5, "rank 0"),
        ("b", "first step", 0.25, 0.25, "rank 0"),
        ("b", "all", 11.25, 11.25, "rank 0"),
    )


def test_late_ranks_are_told(tmp_path: Path) -> None:
    found = report_of([run_of(tmp_path / "late", 3.0)]).findings
    (note,) = (each for each in found if each.name == "launch_skew")
    assert note.sentence == (
        "b: rank 2 came 3.0 s later to the process group than the median rank: the others waited"
    )
    assert note.place == "rank 2"
    clean = report_of([run_of(tmp_path / "clean", 0.5)]).findings
    assert not [each for each in clean if each.name == "launch_skew"]


def test_without_start_ups(tmp_path: Path) -> None:
    write(tmp_path, "b.0", job("b"), start(), end())
    assert TABLES["startup"](report_of([tmp_path]).rows).rows == ()
