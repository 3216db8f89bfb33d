from pathlib import Path

from milabench_ddp.results.defects import DefectKind, FileDefect


def test_a_defect_is_one_line() -> None:
    path = Path("runs/x/b.D0.data")
    assert str(FileDefect(path, DefectKind.EMPTY)) == "runs/x/b.D0.data: is empty: ignored"
    repeated = FileDefect(path, DefectKind.NOT_JSON, line=3, count=4, detail="`}`")
    assert str(repeated) == "runs/x/b.D0.data:3: is not JSON: ignored (`}`); and 3 more"


def test_a_long_detail_is_cut() -> None:
    told = str(FileDefect(Path("b.D0.data"), DefectKind.UNKNOWN_EVENT, detail="x" * 10**6))
    assert len(told) < 800
    assert "[... 999,400 more characters ...]" in told
