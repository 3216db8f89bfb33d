"""The command line: argv -> one function of commands/; errors -> exit codes.

0: all ok. 1: some benchmark did not end ok. 2: usage or configuration. 130: interrupted.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import partial

from . import __version__
from .config.runner_profile import SETTINGS
from .errors import MilabenchError
from .options import (
    DryOptions,
    InstallOptions,
    Options,
    ReportOptions,
    ResolveOptions,
    RunFolderOptions,
    RunOptions,
    SuiteOptions,
    flag_of,
)

_EPILOG = """\
examples:
  milabench run config/ddp.yaml             measure this machine
  milabench run ddp --select resnet50       run one benchmark of a shipped suite
  milabench dry config/ddp.yaml --gpus 8    print the bash that `run` would execute
  milabench report runs/<name>              report on what was measured
"""

COMMANDS: Mapping[str, tuple[type[Options], str]] = {
    "run": (RunOptions, "run a suite and report on it"),
    "dry": (DryOptions, "print the bash that `run` would execute"),
    "resolve": (ResolveOptions, "print the resolved configuration"),
    "list": (SuiteOptions, "list what would run, and why the rest would not"),
    "prepare": (SuiteOptions, "make the data that benchmarks read, once"),
    "install": (InstallOptions, "make the environments that benchmarks need"),
    "watch": (RunFolderOptions, "follow a run that has not ended, and report when it ends"),
    "cancel": (RunFolderOptions, "cancel the jobs of a run"),
    "report": (ReportOptions, "report on what was measured, from the folders of runs"),
}


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="milabench",
        description="How fast do your GPUs really train?",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"milabench {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="COMMAND", required=True)
    for verb, (record, help) in COMMANDS.items():
        # The defaults are those of the record, so what is not given is not in the namespace.
        command = verbs.add_parser(verb, help=help, argument_default=argparse.SUPPRESS)
        _add_options(command, record)
    return parser


def _add_options(parser: argparse.ArgumentParser, record: type[Options]) -> None:
    group = parser.add_argument_group("several nodes")
    for each in fields(record):
        if each.name == "settings":
            _add_settings(group)
            continue
        declared = each.metadata
        name = each.name if declared["is_positional"] else flag_of(each.name)
        place = group if declared["group"] else parser
        place.add_argument(name, **declared["argparse"])


def _add_settings(group: argparse._ArgumentGroup) -> None:
    for name, setting in SETTINGS.items():
        if setting.flag:
            group.add_argument(
                setting.flag,
                dest="settings",
                action="append",
                type=partial(_named_value, name),
                metavar=setting.metavar,
                help=setting.help,
            )


def _named_value(name: str, words: str) -> tuple[str, str | int]:
    return name, SETTINGS[name].from_flag(words)


def parse(argv: Sequence[str] | None = None) -> tuple[str, Options]:
    """The command that is asked for, and its options.

    Raises:
        ConfigError: a setting of the runner has a wrong value.
        SystemExit: for ``--help``, ``--version``, and any other wrong usage.
    """
    given = vars(build_parser().parse_args(argv))
    verb = given.pop("verb")
    for name, value in given.items():
        if isinstance(value, list):
            given[name] = dict(value) if name == "settings" else tuple(value)
    record, _ = COMMANDS[verb]
    return verb, record(**given)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        verb, options = parse(argv)
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


if __name__ == "__main__":
    sys.exit(main())
