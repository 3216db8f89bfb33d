"""``milabench new``: what it writes runs at once, in any folder."""

import re
import shutil
import textwrap
from pathlib import Path

import pytest

from milabench_ddp.cli import main
from tests.support.workplace import Workplace

README = Path(__file__).resolve().parents[2] / "README.rst"
KINDS = ([], ["--per-gpu"], ["--torchrun"], ["--voir"], ["--sweep"])
ON_CPU = ("--device", "cpu", "--gpus", "2")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("kind", KINDS, ids=" ".join)
def test_what_it_writes_has_no_mistake(here: Path, capsys, kind: list[str]) -> None:
    assert main(["new", "net-1", *kind]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in ("net-1.yaml, net-1.py", "milabench run net-1.yaml"))
    for preset in ("small", "full"):
        for verb in ("list", "dry", "resolve"):
            assert main([verb, "net-1.yaml", "--preset", preset, *ON_CPU]) == 0
    shown = capsys.readouterr()
    assert "warning:" not in shown.out + shown.err
    assert re.search(r"\bnet-1\b", shown.out)
    for path in here.iterdir():
        assert not re.search(r"\bmine\b", path.read_text())


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS[1:], ids=" ".join)
def test_it_runs(at: Workplace, monkeypatch, kind: list[str]) -> None:
    monkeypatch.chdir(at.folder)
    assert main(["new", "mine", *kind]) == 0
    small = ["--override", "*.argv.--batch-size=2", "--override", "*.max_duration=3000"]
    if kind != ["--voir"]:
        small += ["--override", "*.argv.--observations=60"]
    # A machine that is busy with other tests may leave no rate that is one
    words = (*ON_CPU, *small, "--name", "first", "--fail-on", "none")
    done = at.milabench("run", "mine.yaml", *words)
    assert done.code == 0, done.out
    rates = [path.read_text().count('"rate"') for path in at.run("first").glob("*.data")]
    assert len(rates) == {"--torchrun": 1, "--sweep": 6}.get(kind[0], 2)
    assert min(rates) >= 60  # as many as an interval needs


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["mine"], "mine.py is there already"),
        (["other", "--voir"], "voirfile.py is there already"),
        (["a/b"], "cannot name a benchmark"),
        (["_mine"], "`_` begins the name of a template"),
        (["include"], "`include` names other files"),
        (["msgspec"], "msgspec.py would hide the module `msgspec`"),
        (["torch"], "torch.py would hide the module `torch`"),
        (["x", "--voir", "--sweep"], "choose one of --voir, --sweep"),
    ],
)
def test_what_it_refuses(here: Path, capsys, words: list[str], message: str) -> None:
    """Nothing is written, and nothing is replaced."""
    for name in ("mine.py", "voirfile.py"):
        (here / name).write_text("")
    assert main(["new", *words]) == 2
    assert message in capsys.readouterr().err
    assert {path.name: path.read_text() for path in here.iterdir()} == {
        "mine.py": "",
        "voirfile.py": "",
    }


def test_the_example_of_the_readme(here: Path) -> None:
    assert main(["new", "mine"]) == 0
    section = README.read_text().split("\nA benchmark of your own\n")[1].split("\n====")[0]
    (block,) = re.findall(r"\.\. code-block:: yaml\n\n((?:    .*\n|\n)+)", section)
    assert textwrap.dedent(block).strip() in Path("mine.yaml").read_text()


def test_a_probe_of_the_voir_example_that_is_renamed(here: Path, capsys) -> None:
    assert main(["new", "mine", "--voir"]) == 0
    script = Path("mine.py")
    script.write_text(script.read_text().replace("def train(", "def fit("))
    assert main(["list", "mine.yaml", *ON_CPU]) == 2
    assert "mine.py has no function `train`" in capsys.readouterr().err
    shutil.move("voirfile.py", "other.py")
    assert main(["list", "mine.yaml", *ON_CPU]) == 2
    assert "needs voirfile.py, which is not there" in capsys.readouterr().err
