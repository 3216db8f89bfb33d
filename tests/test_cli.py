import subprocess
import sys

import pytest

from milabench_ddp import __version__
from milabench_ddp.cli import main, parse
from milabench_ddp.options.run import RunOptions
from milabench_ddp.options.suite import SuiteOptions
from tests.support.workplace import GOOD, Suite, Workplace


def test_help_and_version_need_nothing_heavy():
    code = (
        "import sys\nfrom milabench_ddp.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "print([m for m in ('torch', 'numpy', 'yaml', 'omegaconf', 'rich', 'pynvml', 'voir')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_dry_loads_nothing_heavy(at: Workplace, suite: Suite):
    config = at.folder / suite(one=GOOD)
    code = (
        "import sys\nfrom milabench_ddp.cli import main\n"
        f"main(['dry', {str(config)!r}, '--gpus', '8', '--nodes', '2'])\n"
        "print([m for m in ('torch', 'numpy', 'omegaconf', 'rich', 'pynvml', 'voir')"
        " if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_version(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"milabench {__version__}\n"


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["fly"],
        ["dry"],
        ["run", "x.yaml", "--gpus", "0"],
        ["run", "x.yaml", "--gpus", "two"],
        ["run", "x.yaml", "--repeat", "-1"],
        ["run", "x.yaml", "--grace", "nan"],
        ["run", "x.yaml", "--device", "gpu"],
        ["dry", "x.yaml", "--nodes", "0"],
        ["run", "x.yaml", "--nodes", "2,x"],
        ["report"],
    ],
)
def test_usage_errors_are_2(words: list[str], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as end:
        main(words)
    assert end.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_run_needs_a_configuration_or_a_run_to_resume(capsys: pytest.CaptureFixture[str]):
    assert main(["run"]) == 2
    assert "no configuration" in capsys.readouterr().err


def test_node_counts_are_each_there_once_the_largest_first():
    _, options = parse(["run", "x", "--nodes", "1,8,2,8"])
    assert options == RunOptions(config="x", nodes=(8, 2, 1))


def test_names_are_separated_by_commas_and_add_up():
    _, options = parse(["list", "x", "--select", "a, b", "--select", "c"])
    assert options == SuiteOptions(config="x", select=("a", "b", "c"))


def test_a_reader_that_goes_away_is_no_traceback(at: Workplace, suite: Suite):
    with at.start("dry", suite(**{f"b{i}": GOOD for i in range(60)}), "--gpus", "64") as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == ""
    assert process.returncode == 141


@pytest.mark.parametrize("command", ["run", "watch", "report", "compare", "history"])
def test_help_tells_the_exit_codes(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert "exit codes:\n  0    " in capsys.readouterr().out
