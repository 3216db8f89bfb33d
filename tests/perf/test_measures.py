"""Every measurement of ``python -m perf`` on tiny sizes: that it works, not what it measures."""

import json
import math
from pathlib import Path

import pytest

from perf.__main__ import MEASURES, main, measure
from perf.figure import Figure
from perf.paired import FailedRunError
from perf.room import Effort, Room


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASURES)
def test_a_measurement_has_figures(name: str) -> None:
    figures = measure(name, Effort.TINY)
    assert figures or name == "scale-lines"  # too few lines to see the memory grow
    for figure in figures:
        assert len(figure.measured) == len(figure.floor) == 1
        assert all(map(math.isfinite, (*figure.measured, *figure.floor)))


def test_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def two(room: Room) -> list[Figure]:
        assert room.effort is Effort.QUICK
        assert room.folder.is_dir()
        return [Figure("answer", "s", (2.0,), (1.0,), "the floor")]

    monkeypatch.setitem(MEASURES, "two", two)
    told = tmp_path / "perf.json"
    assert main(["--quick", "--only", "two", "--json", str(told)]) == 0
    out, err = capsys.readouterr()
    assert "answer" in out
    assert "of the cores meanwhile" in out
    assert err.startswith("two ... ")
    assert json.loads(told.read_text())["figures"][0]["name"] == "answer"


def test_one_that_fails_does_not_take_the_others_with_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Room) -> list[Figure]:
        raise FailedRunError("b did not end ok")

    monkeypatch.setitem(MEASURES, "broken", broken)
    monkeypatch.setitem(MEASURES, "one", lambda _: [Figure("answer", "s", (2.0,), (1.0,), "x")])
    assert main(["--quick", "--only", "broken,one"]) == 2
    out, err = capsys.readouterr()
    assert "failed: b did not end ok" in err
    assert "answer" in out
    assert out.endswith("not measured: broken\n")


def test_a_name_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--only", "startup,nothing"])
    assert "no nothing; there are startup, trivial" in capsys.readouterr().err
