"""The command line: runs one command of ``commands/``, and turns errors into exit codes.

0: every benchmark ended ok. 1: a benchmark did not. 2: wrong usage or configuration.
130: interrupted or cancelled. 141: the reader of the output is gone.
"""

import os
import sys

from . import __version__
from .streams import prepare_streams

# Functions import the modules that `milabench --help` does not need: they take most of the time.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence
    from typing import Any

_USAGE = "usage: milabench [-h] [--version] COMMAND ..."
_DESCRIPTION = "How fast do your GPUs really train?"

_EPILOG = """\
examples:
  milabench run config/ddp.yaml             measure this machine
  milabench run ddp --select resnet50       run one benchmark of a shipped suite
  milabench dry config/ddp.yaml --gpus 8    print the bash that `run` would execute
  milabench report runs/<name>              report on a run
"""

_OF_RUNS = """\
exit codes:
  0    every benchmark ended ok and measured something, but skipped ones
  1    a benchmark did not, the run has not ended, or there is a finding of --fail-on
  2    wrong usage or configuration, or runs that cannot be pooled
  130  the run was cancelled, or this command was interrupted
"""
_OF_CHANGES = """\
exit codes:
  0    all was read, whatever is slower, unless --fail-on says otherwise
  1    --fail-on slower found something
  2    wrong usage, no run there, or runs that cannot be pooled
  130  this command was interrupted
"""

_EXIT_CODES = {
    **dict.fromkeys(("run", "watch", "report"), _OF_RUNS),
    **dict.fromkeys(("compare", "history"), _OF_CHANGES),
}

# The record of the options of each command, and what it does.
COMMANDS = {
    "run": ("suite.RunOptions", "run a suite and report on it"),
    "dry": ("suite.LaunchOptions", "print the bash that `run` would execute"),
    "resolve": ("suite.ResolveOptions", "print the resolved configuration"),
    "list": (
        "suite.SuiteOptions",
        "list the benchmarks that would run, and why the others would not",
    ),
    "prepare": ("suite.SuiteOptions", "make the data that benchmarks read, unless it exists"),
    "install": ("suite.InstallOptions", "make the virtual environments that benchmarks need"),
    "watch": (
        "reading.RunFolderOptions",
        "follow a run that has not ended, and report when it ends",
    ),
    "cancel": ("reading.RunFolderOptions", "cancel the jobs of a run"),
    "report": ("reading.ReportOptions", "report on the measurements in run folders"),
    "serve": (
        "reading.ServeOptions",
        "show the reports of runs in the browser, and follow those that go on",
    ),
    "export": (
        "reading.ExportOptions",
        "write the measurements in run folders as tables, for other programs",
    ),
    "compare": (
        "reading.CompareOptions",
        "say what is slower, faster or the same in other runs",
    ),
    "history": (
        "reading.HistoryOptions",
        "tell what got slower over many runs: benchmarks and single GPUs",
    ),
}

# Commands that stand beside another in its module: the module, and the function.
_MAINS = {"cancel": ("watch", "cancel"), "install": ("prepare", "install")}


def help_text() -> str:
    """What ``milabench --help`` prints, as argparse would lay it out."""
    width = max(map(len, COMMANDS)) + 3
    commands = "".join(f"    {name:{width}}{help}\n" for name, (_, help) in COMMANDS.items())
    return (
        f"{_USAGE}\n\n{_DESCRIPTION}\n\npositional arguments:\n  COMMAND\n{commands}\n"
        "options:\n  -h, --help  show this help message and exit\n"
        f"  --version   show program's version number and exit\n\n{_EPILOG}"
    )


def record(verb: str) -> "type[Any]":
    """The class of the options of a command."""
    from importlib import import_module

    module, name = COMMANDS[verb][0].split(".")
    found: type[Any] = getattr(import_module(f".options.{module}", __package__), name)
    return found


def build_parser(verb: str = "") -> "argparse.ArgumentParser":
    """The parser of the command line: of the command ``verb``, or of all, without their options."""
    import argparse

    parser = argparse.ArgumentParser(
        prog="milabench",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"milabench {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="COMMAND", required=True)
    for name in [verb] if verb in COMMANDS else COMMANDS:
        # The record has the defaults, so an option that is not given stays out of the namespace.
        command = verbs.add_parser(
            name,
            help=COMMANDS[name][1],
            epilog=_EXIT_CODES.get(name),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            argument_default=argparse.SUPPRESS,
        )
        if name == verb:
            _add_options(command, verb)
    return parser


def _add_options(parser: "argparse.ArgumentParser", verb: str) -> None:
    from dataclasses import fields

    from .options.option import argument_name

    for option in fields(record(verb)):
        if option.name == "settings":
            _add_settings(parser.add_argument_group("settings that override the runner profile"))
        else:
            parser.add_argument(argument_name(option), **option.metadata["argparse"])


def _add_settings(group: "argparse._ArgumentGroup") -> None:
    from functools import partial

    from .config.runner_profile import SETTINGS

    def named_value(name: str, words: str) -> tuple[str, str | int]:
        return name, SETTINGS[name].from_flag(words)

    for name, setting in SETTINGS.items():
        if setting.flag:
            group.add_argument(
                setting.flag,
                dest="settings",
                action="append",
                type=partial(named_value, name),
                metavar=setting.metavar,
                help=setting.help,
            )


def parse(argv: "Sequence[str]") -> tuple[str, object]:
    """The command that the user asked for, and its options.

    Raises:
        ConfigError: a setting of the runner has a wrong value.
        SystemExit: for ``--help``, for ``--version``, and for wrong usage.
    """
    given = vars(build_parser(argv[0] if argv else "").parse_args(argv))
    verb = given.pop("verb")
    for name, value in given.items():
        if isinstance(value, list):
            given[name] = dict(value) if name == "settings" else tuple(value)
    return verb, record(verb)(**given)


def main(argv: "Sequence[str] | None" = None, begin: "Callable[[], None] | None" = None) -> int:
    """Run the command line and return its exit code.

    Args:
        argv: the words of the command line; None for those of this process.
        begin: is called when all is imported, right before the command does something.
    """
    prepare_streams()
    words = sys.argv[1:] if argv is None else list(argv)
    if asks_for_help(words):
        return _guarded(_print_help)
    from .caller import restore_environment
    from .hidden import SECRETS
    from .shown_streams import shown_output

    restore_environment()
    with shown_output():
        SECRETS.learn(words)
        return _guarded(lambda: _run(words, begin))


def _print_help() -> int:
    sys.stdout.write(help_text())
    return 0


def _run(words: list[str], begin: "Callable[[], None] | None") -> int:
    from importlib import import_module

    _refuse_lost_folder()
    verb, options = parse(words)
    module, name = _MAINS.get(verb, (verb, "main"))
    command = getattr(import_module(f"{__package__}.commands.{module}"), name)
    if begin is not None:
        begin()
    return int(command(options))


def _guarded(command: "Callable[[], int]") -> int:
    """Run a command and return its exit code; report an error of the user or of the host."""
    try:
        code = command()
        sys.stdout.flush()
    except KeyboardInterrupt:
        from .interrupts import INTERRUPTED

        return INTERRUPTED
    except BrokenPipeError:
        _discard_output()
        return 141
    except Exception as error:
        said = _sentence(error)
        if not said:
            raise  # a bug, and the traceback shows where
        print("milabench:", said, file=sys.stderr)
        _discard_output()
        return 2
    return code


def _sentence(error: Exception) -> str:
    """The message for an error of the user or of the host; empty for a bug of milabench."""
    from .errors import MilabenchError, lacking, shortened

    if isinstance(error, MilabenchError):
        # It may quote several lines; none of them may look like a message of milabench.
        first, *others = map(shortened, str(error).split("\n"))
        return "\n".join([first, *[line if line[:1] == " " else f"  {line}" for line in others]])
    if isinstance(error, OSError):  # a name too long, a folder without rights, a full disk
        where = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        return shortened(f"{where}{error.strerror}")
    if isinstance(error, UnicodeEncodeError):
        text = ascii(error.object[error.start : error.end])
        said = f"{text} is not in the {error.encoding} of this locale"
        return f"{said}: choose a UTF-8 locale, such as LC_ALL=C.UTF-8"
    return lacking(error)


def _discard_output() -> None:
    try:
        sys.stdout.flush()
    except OSError:  # its reader is gone, or its disk is full
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def asks_for_help(words: list[str]) -> bool:
    """Whether the words ask for the help on all commands, which needs nothing else."""
    return words in (["-h"], ["--help"])


def _refuse_lost_folder() -> None:
    from .errors import MilabenchError

    try:
        os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        raise MilabenchError("the current folder does not exist any more: cd to another") from None
