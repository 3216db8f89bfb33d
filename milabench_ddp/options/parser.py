"""The parser of a command, made from the record of its options; what it refuses, it explains."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import Field, fields
from functools import partial
from typing import NoReturn

from ..errors import did_you_mean
from .command_table import COMMANDS
from .option import arguments

ALL = "all"
"""What follows ``--help`` of a command for its options that are seldom needed, too."""


def parse_options(verb: str, words: Sequence[str]) -> object:
    if not {"-h", "--help", f"--help={ALL}"}.isdisjoint(words):
        _parser(verb, with_rare=words[-1].removeprefix("--help=") == ALL).print_help()
        raise SystemExit(0)
    parser = _parser(verb)
    namespace, others = parser.parse_known_args(words)
    for word in others:
        flag = word.partition("=")[0]
        hint = did_you_mean(flag, parser.flags) if word.startswith("-") else ""
        parser.error(f"unknown {'option' if word.startswith('-') else 'argument'} {flag}{hint}")
    given = vars(namespace)
    for name, value in given.items():
        if isinstance(value, list):
            given[name] = dict(value) if name == "settings" else tuple(value)
    return COMMANDS[verb].options()(**given)


def _placeholder(positional: Field[object]) -> str:
    keywords = positional.metadata["argparse"]
    form = {"?": "[{}]", "+": "{}...", "*": "[{}...]"}.get(keywords.get("nargs"), "{}")
    return form.format(keywords["metavar"])


class _Parser(argparse.ArgumentParser):
    """Ends with a line that says where the help is, since its usage is one line."""

    flags: list[str]

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(2, f"{self.prog}: {message}\nsee: {self.prog} --help\n")


def _parser(verb: str, *, with_rare: bool = False) -> _Parser:
    command = COMMANDS[verb]
    declared = fields(command.options())
    positional = [each for each in declared if each.metadata["is_positional"]]
    usage = ["milabench", verb, "[OPTIONS]", *map(_placeholder, positional)]
    has_rare = any(each.metadata["is_rare"] for each in declared)
    rest = command.exit_codes
    if has_rare and not with_rare:
        rest = f"all options, and exit codes: milabench {verb} --help {ALL}\n"
    parser = _Parser(
        prog=f"milabench {verb}",
        usage=" ".join(usage),
        description=f"{command.help[0].upper()}{command.help[1:]}.",
        epilog="\n".join(filter(None, [command.examples, rest])),
        formatter_class=partial(argparse.RawDescriptionHelpFormatter, max_help_position=22),
        # The record has the defaults, so an option that is not given stays out of the namespace.
        argument_default=argparse.SUPPRESS,
        add_help=False,
    )
    groups: dict[str, argparse._ArgumentGroup] = {"": parser.add_argument_group()}
    title, parser.flags = "", ["--help"]
    for each in declared:
        title = each.metadata["begins"] or title
        named = "" if each.metadata["is_positional"] else title
        group = groups.get(named) or groups.setdefault(named, parser.add_argument_group(named))
        for name, keywords in arguments(each).items():
            if each.metadata["is_rare"] and not with_rare:
                keywords = {**keywords, "help": argparse.SUPPRESS}
            parser.flags += group.add_argument(name, **keywords).option_strings
    return parser
