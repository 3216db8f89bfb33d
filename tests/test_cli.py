import subprocess
import sys

import pytest

from milabench_ddp import __version__
from milabench_ddp.cli import build_parser, help_text, main, parse
from milabench_ddp.options.suite import RunOptions, SuiteOptions
from tests.support.workplace import GOOD, Suite, Workplace


def loaded(*words: str) -> set[str]:
    """The modules that a command loads, without those that Python itself has."""
    code = (
        "import sys\nbefore = set(sys.modules)\nfrom milabench_ddp.cli import main\n"
        f"try: main({list(words)!r})\nexcept SystemExit: pass\n"
        "print('', *sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def in_rooms(found: set[str], *rooms: str) -> set[str]:
    """The modules that are in one of these rooms of the package, by their names there."""
    names = set()
    for room in rooms:
        begin = f"milabench_ddp.{room}"
        names |= {name.removeprefix(begin) for name in found if name.startswith(begin)}
    return names


HEAVY = {
    *("jinja2", "torch", "numpy", "polars", "omegaconf", "rich", "pynvml", "voir", "submitit"),
    "psutil",
}


def test_help_loads_next_to_nothing():
    others = {name for name in loaded("--help") if not name.startswith("milabench_ddp")}
    assert not others & {"argparse", "contextlib", "dataclasses", "enum", "pathlib", "re", "typing"}
    assert len(others) < 5


@pytest.mark.parametrize("verb", ["dry", "run", "resolve", "report", "watch", "compare"])
def test_the_help_of_a_command_does_not_load_the_command(verb: str):
    found = loaded(verb, "--help")
    assert not found & (HEAVY | {"yaml", "subprocess", "threading"})
    assert f"milabench_ddp.commands.{verb}" not in found


@pytest.mark.parametrize("verb", ["report", "watch", "compare", "history", "export", "serve"])
def test_the_help_of_a_command_without_a_suite_loads_no_record(verb: str):
    assert "msgspec" not in loaded(verb, "--help")


@pytest.mark.parametrize("verb", ["dry", "list", "resolve"])
def test_what_plans_loads_nothing_that_runs(at: Workplace, suite: Suite, verb: str):
    found = loaded(verb, str(at.folder / suite(one=GOOD)), "--gpus", "8", "--nodes", "2")
    assert not found & (HEAVY | {"subprocess", "threading", "multiprocessing", "socket"})
    rooms = (
        *("dispatch.coordinator", "dispatch.runners", "launch"),
        *("machine.provenance", "machine.sampler", "report", "results"),
    )
    assert not in_rooms(found, *rooms)
    assert len(in_rooms(found, "")) < 70


def test_a_run_loads_its_own_runner_and_the_text_of_its_report_alone(at: Workplace, suite: Suite):
    place = ("--device", "cpu", "--gpus", "1", "--base", str(at.folder))
    found = loaded("run", str(at.folder / suite(one=GOOD)), *place)
    others = {"torch", "omegaconf", "rich", "voir", "submitit", "html", "http", "jinja2", "polars"}
    assert not found & others
    assert in_rooms(found, "dispatch.runners.") == {"attached", "base"}
    rooms = (
        *("dispatch.agent", "dispatch.follow", "dispatch.job", "dispatch.slurm"),
        *("report.charts", "report.comparison", "report.document", "report.formats"),
        *("render.markdown", "report.history", "report.page", "report.plots", "report.prediction"),
        *("report.server", "report.export"),
    )
    assert not in_rooms(found, *rooms)
    assert len(in_rooms(found, "")) < 270


@pytest.mark.parametrize(
    ("verb", "modules"),
    [
        ("dry", {"option", "suite"}),
        ("list", {"option", "suite"}),
        ("export", {"option", "reading"}),
    ],
)
def test_what_reads_runs_loads_no_option_of_a_suite(verb: str, modules: set[str]):
    assert in_rooms(loaded(verb, "--help"), "options.") == modules


def test_the_help_is_as_argparse_lays_it_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "120")
    assert help_text() == build_parser().format_help()


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


@pytest.mark.parametrize("words", [["list", "--device", "cpu"], ["--help"]])
def test_a_standard_output_that_is_full_is_a_sentence(
    at: Workplace, suite: Suite, words: list[str]
):
    if words[0] == "list":
        words = [*words, suite(one=GOOD)]
    with open("/dev/full", "w") as full:
        process = at.start(*words, stdout=full)
    err = process.communicate()[1]
    assert (process.returncode, err) == (2, "milabench: No space left on device\n")


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


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("can't start new thread")])
def test_what_the_host_lacks_is_a_sentence(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(_options: object) -> int:
        raise error

    monkeypatch.setattr("milabench_ddp.commands.list.main", fails)
    assert main(["list", "ddp"]) == 2
    assert capsys.readouterr().err.startswith("milabench: ")
    error.args = ("of another kind",)
    if isinstance(error, RuntimeError):
        with pytest.raises(RuntimeError, match="another"):
            main(["list", "ddp"])
