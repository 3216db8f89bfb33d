"""The memory of ranks: its table, and the findings about it."""

from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.tables import TABLES
from milabench_ddp.report.tables.memory_table import memory_phases
from milabench_ddp.table import csv_text
from tests.support.result_files import end, job, start, told, write


def run_of(folder: Path, *, full: int = -1, retries: int = 0, ranks: int = 4) -> Path:
    """Ranks of an 80,000 MiB device, of which one came near to its end, or ran out of memory."""
    lines = [job("b", ranks), start()]
    for rank in range(ranks):
        reserved = 76000.0 if rank == full else 40000.0
        allocated = {"build": 5000.0, "forward": 30000.0, "backward": 38000.0, "optimizer": 9000.0}
        state = {"retries": 0, "ooms": 0, "split": 500.0, "other": 1500.0, "total": 80000.0}
        if rank == full:
            state["retries"] = retries
        lines.append(told(rank, memory_allocated=allocated, memory_state=state))
        lines.append(told(rank, memory_peak=[38000.0, reserved]))
    write(folder, "b.0", *lines, end())
    return folder


def test_the_table(tmp_path: Path) -> None:
    table = memory_phases(report_of([run_of(tmp_path, full=3, ranks=4)]).rows)
    assert TABLES["memory_phases"] is memory_phases
    lines = csv_text(table).splitlines()
    assert lines[0] == (
        "benchmark,rank,build,forward,backward,optimizer,allocated,reserved,fragmented,split,other,"
        "of device,retries"
    )
    peaks = [5000.0, 30000.0, 38000.0, 9000.0, 38000.0, 40000.0]
    assert table.rows[0][:8] == ("b", "rank 0", *peaks)
    assert lines[4].startswith("b,rank 3,")
    assert table.rows[3][8:] == (pytest.approx(0.5), 500.0, 1500.0, pytest.approx(0.96875), 0.0)


@pytest.mark.parametrize("rank", [0, 3])
def test_near_the_limit(tmp_path: Path, rank: int) -> None:
    found = report_of([run_of(tmp_path, full=rank)]).findings
    (warning,) = (each for each in found if each.name == "near_memory_limit")
    assert warning.sentence == (
        f"b: rank {rank} came to 96.9% of the memory of its device (77500 of 80000 MiB)"
    )
    assert warning.place == f"rank {rank}"


def test_the_allocator_ran_out_of_memory(tmp_path: Path) -> None:
    found = report_of([run_of(tmp_path, full=2, retries=4)]).findings
    (warning,) = (each for each in found if each.name == "allocator_retries")
    assert "rank 2 ran out of memory 4 times in the measured steps" in warning.sentence


def test_with_room_to_spare_nothing_is_told(tmp_path: Path) -> None:
    names = {each.name for each in report_of([run_of(tmp_path)]).findings}
    assert not names & {"near_memory_limit", "allocator_retries"}


@pytest.mark.parametrize("several", [False, True])
def test_a_smaller_batch_is_told_with_the_size_of_the_device(tmp_path: Path, several: bool) -> None:
    fitted = {"asked_batch_size": 32, "batch_size": 8, "device_gib": 23.5}
    for name, model in (("a", fitted), ("b", {"batch_size": 32}), ("c", fitted)):
        if several or name != "c":
            write(tmp_path, f"{name}.0", job(name), start(), told(model=model), end())
    found = [f.sentence for f in report_of([tmp_path]).findings if f.name == "smaller_batch"]
    assert (
        found
        == ["a: batch 8 instead of 32: 24 GiB", "c: batch 8 instead of 32: 24 GiB"][: 1 + several]
    )
