"""``milabench compare`` as a user calls it."""

import json
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest

from milabench_ddp.cli import main
from tests.support.compared_runs import launched

STEADY = [99.8, 100.1, 100.0, 100.3, 99.9]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Runs in the current folder, which are only read."""
    with chdir(tmp_path_factory.mktemp("runs")):
        launched(Path("a"), {"b": STEADY, "c": STEADY})
        launched(Path("slower"), {"b": STEADY, "c": [0.96 * rate for rate in STEADY]})
        launched(Path("faster"), {"b": STEADY, "c": [1.1 * rate for rate in STEADY]})
        launched(Path("broken"), {"b": STEADY}, failed={"c": "it crashed"})
        launched(Path("less"), {"b": STEADY})
        yield


@pytest.mark.parametrize(
    ("after", "words", "code"),
    [
        ("a", [], 0),
        ("slower", [], 0),  # one run on each side: how runs differ is not known
        ("slower", ["--threshold", "3%"], 1),
        ("slower", ["--threshold", "5%"], 0),
        ("slower", ["--threshold", "0.05"], 0),
        ("faster", [], 0),
        ("broken", [], 1),
        ("less", [], 1),
    ],
)
def test_the_exit_code(
    written: None, capsys: pytest.CaptureFixture[str], after: str, words: list[str], code: int
) -> None:
    for face in ("text", "markdown", "csv", "json"):
        assert (
            main(["compare", "a", after, *words, "--format", face, "--fail-on", "slower"]) == code
        )
        assert main(["compare", "a", after, *words, "--format", face]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a", "nothing"], "no run folder nothing"),
        (["a", "x*"], "no run folder matches x*"),
        (["a", "slower", "--history", "nowhere"], "no run folder nowhere"),
    ],
)
def test_bad_input(
    written: None, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert main(["compare", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["b", "--threshold", "-1%"], ["b", "--fail-on", "x"]])
def test_wrong_usage(written: None, words: list[str]) -> None:
    with pytest.raises(SystemExit) as error:
        main(["compare", "a", *words])
    assert error.value.code == 2


def test_a_folder_of_runs_and_a_history(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for k, rate in enumerate(STEADY):
        launched(Path("past") / str(k), {"b": [rate], "c": [rate]})
    launched(Path("one"), {"b": [100.0], "c": [90.0]})
    assert main(["compare", "past", "one", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["counts"]["slower"], found["counts"]["cannot tell"]) == (0, 2)
    words = ["past/0", "one", "--history", "past/1", "past/2", "past/[34]", "--format", "json"]
    assert main(["compare", *words]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["history"] == [f"past/{k}" for k in range(1, 5)]
    assert found["regressions"] == ["c"]
