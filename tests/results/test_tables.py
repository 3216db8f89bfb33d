"""A table gives the record that was kept in it, and is believed only for the file that was read."""

import math
import os
from pathlib import Path

import pytest

from milabench_ddp.results import tables
from milabench_ddp.results.read_events import read_events
from milabench_ddp.results.records import Record
from milabench_ddp.results.tables import fingerprint, load_table, save_table
from tests.support.result_files import (
    RECORDED,
    config,
    end,
    line,
    loss,
    rates,
    sample,
    start,
    steps,
    told,
    write,
)


def kept(path: Path) -> Path:
    table = path.with_suffix(".table")
    save_table(table, read_events(path), fingerprint(path))
    return table


def content(record: Record) -> dict[str, str]:
    """All that it holds, as text, in which NaN is equal to itself."""
    names = [name for name in record.__struct_fields__ if name != "lines"]
    return {name: repr(getattr(record, name)) for name in names}


def whole(folder: Path) -> Path:
    return write(
        folder,
        "b",
        config("b", odd=[math.nan, None, {"deep": [1]}]),
        start(),
        rates([float(k) for k in range(1, 99)], time=5.0, rank=1),
        rates([None, "fast", -1.0, 1e300]),
        loss("x"),
        loss(math.nan),
        told(norm="inf", size=2**60, parameters=8),
        sample(d0=(500.0, 0.5)),
        steps(1, [1.5, 2.5], parts={"forward": [0.5, 1.0]}),
        line("error", {"type": "E"}, "data"),
        "{\n",
        end(1),
    )


def test_the_record_is_the_same(tmp_path: Path) -> None:
    for path in (whole(tmp_path), *sorted((RECORDED / "first").glob("*.data"))):
        table = tmp_path / "table"
        save_table(table, read_events(path), fingerprint(path))
        record = load_table(table, path)
        assert record is not None
        assert content(record) == content(read_events(path))


@pytest.mark.parametrize("change", ["longer", "as long", "touched", "another file"])
def test_a_table_of_another_file_is_stale(tmp_path: Path, change: str) -> None:
    path = whole(tmp_path)
    table, was = kept(path), path.stat()
    assert load_table(table, path) is not None
    if change == "another file":
        (tmp_path / "copy").write_bytes(path.read_bytes())
        (tmp_path / "copy").replace(path)
    elif change == "touched":
        os.utime(path, ns=(1, 1))
    else:
        path.write_bytes(path.read_bytes().replace(b"1", b"2") + b"\n" * (change == "longer"))
    if change != "touched":
        os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))
    assert load_table(table, path) is None


def test_a_table_of_another_version_is_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = whole(tmp_path)
    table = kept(path)
    monkeypatch.setattr(tables, "_reader", lambda: "other sources")
    assert load_table(table, path) is None


def test_a_damaged_table_is_not_believed(tmp_path: Path) -> None:
    path = whole(tmp_path)
    table = kept(path)
    content = table.read_bytes()
    for place in (0, 20, 30, 99, len(content) // 2, len(content) - 1):
        table.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert load_table(table, path) is None
    for size in (0, 8, 40, len(content) - 8):
        table.write_bytes(content[:size])
        assert load_table(table, path) is None
    table.unlink()
    table.mkdir()
    assert load_table(table, path) is None


def test_what_a_table_cannot_hold_is_not_kept(tmp_path: Path) -> None:
    for odd in (10**100, [10**100]):
        path = write(tmp_path, "b", config("b", odd=odd), start(), end())
        with pytest.raises(ValueError, match=r"."):
            kept(path)
    assert [each.name for each in tmp_path.iterdir()] == ["b.data"]
