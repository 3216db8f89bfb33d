from pathlib import Path

import pytest
import yaml

from milabench_ddp.cli import main
from milabench_ddp.commands.resolve import scalar
from milabench_ddp.config.tree import Scalar
from tests.golden import check_golden
from tests.support.small_suite import resolved, write_suite


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_suite()
    return tmp_path


def test_the_yaml(here: Path):
    check_golden("config/resolve.yaml", resolved(here, explain=False, preset="full"))


def test_where_each_value_is_from(here: Path):
    text = resolved(here, explain=True, preset="small", overrides=("resnet50.argv.--batch-size=3",))
    check_golden("config/explain.yaml", text)


def test_both_load_to_the_same(here: Path):
    explained = yaml.safe_load(resolved(here, explain=True))
    assert explained == yaml.safe_load(resolved(here, explain=False))
    assert list(explained) == [
        "resnet50",
        "resnet50-nodes",
        "resnet50-w2",
        "resnet50-w4",
        "flops",
        "bert",
    ]


def test_only_what_is_selected(here: Path):
    chosen = yaml.safe_load(
        resolved(here, explain=False, select=("resnet*",), exclude=("multinode",))
    )
    assert list(chosen) == ["resnet50", "resnet50-w2", "resnet50-w4"]


def test_the_command(here: Path, capsys: pytest.CaptureFixture[str]):
    words = ["resolve", "suite.yaml", "--device", "cpu", "--gpus", "1", "--explain"]
    assert main([*words, "--select", "flops"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("# suite.yaml, preset small\nflops:\n")
    assert "enabled: false  # suite.yaml:33\n" in out


def test_a_mistake_is_one_line_and_exit_2(here: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["resolve", "suite.yml"]) == 2
    assert capsys.readouterr().err == (
        "milabench: suite.yml: no such file, and no shipped configuration of that name: "
        "did you mean `suite.yaml`?\n"
    )


@pytest.mark.parametrize("values", [(1, True, 1.0), (0.0, -0.0, 0, False), ("1", 1), ("", None)])
def test_values_that_are_equal_stay_what_they_are(values: tuple[Scalar, ...]) -> None:
    printed = [repr(yaml.safe_load(scalar(value))) for value in values]
    assert printed == list(map(repr, values))
