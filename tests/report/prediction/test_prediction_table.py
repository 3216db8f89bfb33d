"""``report --predict`` in each format, of planted result files."""

import json
from pathlib import Path

import numpy as np
import pytest

from milabench_ddp.cli import main
from tests.golden import check_golden
from tests.support.planted_scaling import Planted, written
from tests.support.result_files import write_state


@pytest.fixture
def run(tmp_path: Path) -> str:
    chance = np.random.default_rng(1)
    names = []
    for repeat in range(2):
        for count in (1, 2, 4):
            name = f"gpt-{count}"
            each = Planted().launched(count, chance, 40)
            written(tmp_path, name, each, f"R{repeat}")
            names.append(name)
    write_state(tmp_path, "ok", dict.fromkeys(names, "ok"))
    return str(tmp_path)


def test_as_text(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", run, "--predict", "8,64"]) == 0
    check_golden("report/prediction.txt", capsys.readouterr().out)


def test_as_csv_and_json(run: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", run, "--predict", "8", "--csv"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert main(["report", run, "--predict", "8", "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["predictions"]
    assert [row.split(",")[:3] for row in rows] == [["gpt", "nodes", n] for n in "1248"]
    last = dict(zip(head.split(","), rows[-1].split(","), strict=True))
    step = found["predictions"][-1]["step_ms"]
    assert [float(last[f"step_ms{end}"]) for end in ("", "_low", "_high")] == list(step.values())
    assert last["measured_ms"] == ""
    assert found["check"]["holds"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("8", "--table", "steps"), "--predict goes without --table"),
        (("33",), "gpt: 33 nodes are more than 8 times the most measured, 4"),
    ],
)
def test_it_is_refused(
    run: str, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], expected: str
) -> None:
    assert main(["report", run, "--predict", *options]) == 2
    assert expected in capsys.readouterr().err
