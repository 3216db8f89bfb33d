"""The command line: argv -> one function of commands/; errors -> exit codes.

0: all ok. 1: some benchmark did not end ok. 2: usage or configuration. 130: interrupted.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from . import __version__
from .errors import MilabenchError

# What `milabench --help` does not need is imported in functions: it takes longer than the rest.
if TYPE_CHECKING:
    from .options import Options

_EPILOG = """\
examples:
  milabench run config/ddp.yaml             measure this machine
  milabench run ddp --select resnet50       run one benchmark of a shipped suite
  milabench dry config/ddp.yaml --gpus 8    print the bash that `run` would execute
  milabench report runs/<name>              report on what was measured
"""

COMMANDS: Mapping[str, str] = {
    "run": "run a suite and report on it",
    "dry": "print the bash that `run` would execute",
    "resolve": "print the resolved configuration",
    "list": "list what would run, and why the rest would not",
    "prepare": "make the data that benchmarks read, once",
    "install": "make the environments that benchmarks need",
    "watch": "follow a run that has not ended, and report when it ends",
    "cancel": "cancel the jobs of a run",
    "report": "report on what was measured, from the folders of runs",
}


def build_parser(verb: str = "") -> argparse.ArgumentParser:
    """The parser of the command line; of the commands, only this one has its options."""
    parser = argparse.ArgumentParser(
        prog="milabench",
        description="How fast do your GPUs really train?",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"milabench {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="COMMAND", required=True)
    for name, help in COMMANDS.items():
        # The defaults are those of the record, so what is not given is not in the namespace.
        command = verbs.add_parser(name, help=help, argument_default=argparse.SUPPRESS)
        if name == verb:
            _add_options(command, verb)
    return parser


def _add_options(parser: argparse.ArgumentParser, verb: str) -> None:
    from dataclasses import fields

    from .options import RECORDS, argument_name

    for option in fields(RECORDS[verb]):
        if option.name == "settings":
            _add_settings(parser.add_argument_group("settings that win over the runner profile"))
        else:
            parser.add_argument(argument_name(option), **option.metadata["argparse"])


def _add_settings(group: argparse._ArgumentGroup) -> None:
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


def parse(argv: Sequence[str]) -> tuple[str, "Options"]:
    """The command that is asked for, and its options.

    Raises:
        ConfigError: a setting of the runner has a wrong value.
        SystemExit: for ``--help``, ``--version``, and any other wrong usage.
    """
    given = vars(build_parser(argv[0] if argv else "").parse_args(argv))
    from .options import RECORDS

    verb = given.pop("verb")
    for name, value in given.items():
        if isinstance(value, list):
            given[name] = dict(value) if name == "settings" else tuple(value)
    return verb, RECORDS[verb](**given)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    _open_closed_streams()
    try:
        verb, options = parse(sys.argv[1:] if argv is None else argv)
        command = importlib.import_module(f"{__package__}.commands.{verb}")
        return int(command.main(options))
    except MilabenchError as error:
        print(f"milabench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our output has gone; the interpreter's last flush must find no pipe either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _open_closed_streams() -> None:
    """Open on ``/dev/null`` those of the standard streams that are closed, as after ``2>&-``.

    Else the next file that is opened would take the place of standard error.
    """
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(fd, True)
    os.close(fd)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)


if __name__ == "__main__":
    sys.exit(main())
