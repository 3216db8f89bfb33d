import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from milabench_ddp.errors import RunDirError, SelectionError
from milabench_ddp.report import plots
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.charts.chart import Chart
from milabench_ddp.report.charts.svg import Drawing
from milabench_ddp.report.plots import named, write_charts
from milabench_ddp.table import Table
from tests.support.result_files import config, end, rates, start, write
from tests.support.svg import parsed


def chart(subject: str, kind: str = "ledger", part: str = "") -> Chart:
    return Chart(kind, subject, part, "t", "d", lambda _: Drawing(1, Markup()), Table((), ()))


@given(st.lists(st.tuples(st.text(st.characters()), st.text(st.characters()))))
def test_any_name_becomes_the_safe_name_of_one_file(words: list[tuple[str, str]]) -> None:
    names = named(chart(subject, part=part) for subject, part in words)
    assert len({name.casefold() for name in names}) == len(words)
    for name in names:
        assert re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,210}", name)


def test_names_say_what_is_drawn() -> None:
    charts = [
        chart("gpt-ddp"),
        chart("../../etc/passwd", "sweeps", "throughput"),
        chart("GPT-ddp"),
        chart("", "rates", "images/s"),
    ]
    assert list(named(charts)) == [
        "gpt-ddp.ledger",
        "etc-passwd.sweeps.throughput",
        "GPT-ddp.ledger-2",
        "rates.images-s",
    ]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    for name, rate in (("one", 10.0), ("two", 20.0)):
        text = (config(name, device=0), start(), rates([rate] * 9), end(0))
        write(tmp_path / "run", f"{name}.D0", *text)
    return tmp_path / "run"


def test_an_svg_and_a_png_of_each(run: Path, tmp_path: Path) -> None:
    pytest.importorskip("cairosvg")
    folder = tmp_path / "made" / "here"
    assert write_charts(report_of([run]), folder) == [f"3 charts in {folder}"]
    names = ["one.rate", "rates.items-s", "two.rate"]
    files = sorted(path.name for path in folder.iterdir())
    assert files == [f"{name}.{kind}" for name in names for kind in ("png", "svg")]
    svg = parsed((folder / "rates.items-s.svg").read_text())
    assert svg.root.tag == "{http://www.w3.org/2000/svg}svg"
    assert (folder / "rates.items-s.png").read_bytes().startswith(b"\x89PNG")


def test_without_cairosvg_there_are_svgs_and_a_sentence(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    said = write_charts(report_of([run]), tmp_path)
    assert said == [f"3 charts in {tmp_path}", plots.NO_PNG]
    assert [path.suffix for path in tmp_path.iterdir() if path.is_file()] == [".svg"] * 3


def test_only_what_is_selected_is_drawn(run: Path, tmp_path: Path) -> None:
    write_charts(report_of([run]).only(["two"]), tmp_path)
    text = (tmp_path / "rates.items-s.svg").read_text()
    assert "two" in text
    assert ">one<" not in text
    with pytest.raises(SelectionError, match="anything to draw"):
        write_charts(report_of([run]).only([]), tmp_path)


def test_a_folder_that_is_a_file_is_an_error(run: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RunDirError, match=r"cannot write to .*file"):
        write_charts(report_of([run]), tmp_path / "file")
