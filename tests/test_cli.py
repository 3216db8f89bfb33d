import subprocess
import sys
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

import pytest

from milabench_ddp import __version__
from milabench_ddp.cli import main, parse
from milabench_ddp.options.command_table import COMMANDS
from milabench_ddp.options.option import arguments
from milabench_ddp.options.suite import ListOptions, RunOptions
from milabench_ddp.report.comparison import comparison_faces
from milabench_ddp.report.formats import FORMATS
from milabench_ddp.report.history import history_faces
from tests.golden import check_golden
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


@pytest.mark.parametrize(
    "line", ["milabench re", "milabench run ddp --select g", "milabench report "]
)
def test_completing_loads_nothing_heavy(line: str):
    assert not loaded("completion", "bash", line) & (HEAVY | {"subprocess"})


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
    assert len(in_rooms(found, "")) < 285


@pytest.mark.parametrize(
    ("verb", "modules"),
    [
        ("dry", {"suite"}),
        ("list", {"suite"}),
        ("export", {"reading"}),
    ],
)
def test_what_reads_runs_loads_no_option_of_a_suite(verb: str, modules: set[str]):
    found = in_rooms(loaded(verb, "--help"), "options.")
    assert found == {"command_table", "option", "parser", *modules}


@pytest.mark.parametrize("words", ["--help", "run --help", "run --help all", "report --help"])
def test_help_at_80_columns(
    words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("COLUMNS", "80")
    with suppress(SystemExit):
        main(words.split())
    out = capsys.readouterr().out
    check_golden(f"commands/{'_'.join(words.replace('--', '').split())}.txt", out)
    assert words.endswith("all") or len(out.splitlines()) <= 40
    with suppress(SystemExit):
        main(["help", *words.replace("--help", "").split()])
    assert capsys.readouterr().out == out


def test_without_a_command_the_commands_are_listed(capsys: pytest.CaptureFixture[str]):
    assert main(["--help"]) == 0
    help = capsys.readouterr().out
    assert all(f"\n  {name} " in help for name in COMMANDS)
    assert main([]) == 2
    assert capsys.readouterr() == ("", help)


@pytest.mark.parametrize("verb", ["run", "report", "watch", "history"])
@pytest.mark.parametrize("words", [["--help", "all"], ["--help=all"], ["x", "-h", "all"]])
def test_help_all_has_all_options(verb: str, words: list[str], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as end:
        main([verb, *words])
    assert end.value.code == 0
    help = capsys.readouterr().out
    for field in fields(COMMANDS[verb].options()):
        for name in arguments(field):
            assert f"\n  {name} " in help or not name.startswith("-")


def test_the_formats_of_the_options_are_those_that_can_be_written():
    known = {"report": FORMATS, "compare": comparison_faces.FACES, "history": history_faces.FACES}
    for verb, formats in known.items():
        (option,) = [each for each in fields(COMMANDS[verb].options()) if each.name == "format"]
        keywords = arguments(option)["--format"]
        assert set(keywords["choices"]) == {"text", *formats}


def test_the_version_has_the_commit_of_a_checkout(capsys: pytest.CaptureFixture[str]):
    assert main(["--version"]) == 0
    git = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    head = subprocess.run(git, capture_output=True, text=True, check=True)
    said = capsys.readouterr().out.removesuffix(" and changes)\n").removesuffix(")\n")
    assert said == f"milabench {__version__} ({head.stdout[:8]}"


@pytest.mark.parametrize(
    "words",
    [
        ["dry"],
        ["report", "a", "--format", "pdf"],
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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("rnu ddp", "milabench: no command rnu: did you mean `run`?\n"),
        ("fly", "milabench: no command fly; `milabench --help` lists the commands\n"),
        ("ddp", "milabench: no command ddp: did you mean `milabench run ddp`?\n"),
        ("--gpus 2 run ddp", "milabench: --gpus: a command comes first, as in `milabench run ddp`"),
    ],
)
def test_what_is_no_command(words: str, said: str, capsys: pytest.CaptureFixture[str]):
    assert main(words.split()) == 2
    assert capsys.readouterr().err.startswith(said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("run ddp --selekt a", "milabench run: unknown option --selekt: did you mean `--select`?"),
        ("report a --tabel=x", "milabench report: unknown option --tabel: did you mean `--table`?"),
        ("dry x --qoss q", "milabench dry: unknown option --qoss: did you mean `--qos`?\n"),
        ("watch a --x", "milabench watch: unknown option --x\n"),
        ("list a b", "milabench list: unknown argument b\n"),
    ],
)
def test_an_unknown_option_is_told_under_the_usage_of_its_command(
    words: str, said: str, capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(SystemExit) as end:
        main(words.split())
    assert end.value.code == 2
    verb = words.split()[0]
    usage, *lines = capsys.readouterr().err.splitlines(keepends=True)
    assert usage.startswith(f"usage: milabench {verb} [OPTIONS] ")
    assert lines[0].startswith(said)
    assert lines[1:] == [f"see: milabench {verb} --help\n"]


def test_run_needs_a_configuration_or_a_run_to_resume(capsys: pytest.CaptureFixture[str]):
    assert main(["run"]) == 2
    assert "no configuration" in capsys.readouterr().err


def test_node_counts_are_each_there_once_the_largest_first():
    _, options = parse(["run", "x", "--nodes", "1,8,2,8"])
    assert options == RunOptions(config="x", nodes=(8, 2, 1))


def test_names_are_separated_by_commas_and_add_up():
    _, options = parse(["list", "x", "--select", "a, b", "--select", "c"])
    assert options == ListOptions(config="x", select=("a", "b", "c"))


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
        main([command, "--help", "all"])
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
