"""The command line: runs one command of ``commands/``, and turns errors into exit codes.

0: every benchmark ended ok. 1: a benchmark did not. 2: wrong usage or configuration.
130: interrupted or cancelled. 141: the reader of the output is gone.
"""

import os
import sys

from . import __version__
from .options.command_table import COMMANDS, help_text
from .streams import prepare_streams

# Functions import the modules that `milabench --help` does not need: they take most of the time.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def parse(argv: "Sequence[str]") -> tuple[str, object]:
    """The command that the user asked for, and its options.

    Raises:
        ConfigError: a setting of the runner has a wrong value.
        SelectionError: there is no such command.
        SystemExit: for ``--help``, and for wrong usage.
    """
    verb, *words = argv
    if verb == "help":
        verb, *words = words[0], "--help", *words[1:]
    if verb not in COMMANDS:
        from .errors import SelectionError, did_you_mean

        if verb.startswith("-"):
            raise SelectionError(f"{verb}: a command comes first, as in `milabench run ddp`")
        from .config.shipped import find_shipped

        if find_shipped("config", verb) or verb.endswith(".yaml"):
            raise SelectionError(f"no command {verb}: did you mean `milabench run {verb}`?")
        hint = did_you_mean(verb, COMMANDS) or "; `milabench --help` lists the commands"
        raise SelectionError(f"no command {verb}{hint}")
    from .options.parser import parse_options

    return verb, parse_options(verb, words)


def main(argv: "Sequence[str] | None" = None, begin: "Callable[[], None] | None" = None) -> int:
    """Run the command line and return its exit code.

    Args:
        begin: is called when all is imported, right before the command does something.
    """
    prepare_streams()
    words = sys.argv[1:] if argv is None else list(argv)
    if asks_for_help(words):
        return _guarded(lambda: _print_help(words))
    from .caller import restore_environment
    from .hidden import SECRETS
    from .shown_streams import shown_output

    restore_environment()
    with shown_output():
        SECRETS.learn(words)
        return _guarded(lambda: _run(words, begin))


def _print_help(words: list[str]) -> int:
    out, code = (sys.stdout, 0) if words else (sys.stderr, 2)  # without a command nothing is done
    out.write(help_text())
    return code


def _print_version() -> int:
    from pathlib import Path

    from .machine.provenance import checkout_of

    found = checkout_of(Path(__file__), os.environ)
    commit = f" ({found['commit']:.8}{' and changes' * bool(found['dirty'])})" if found else ""
    print(f"milabench {__version__}{commit}")
    return 0


def _run(words: list[str], begin: "Callable[[], None] | None") -> int:
    from importlib import import_module

    if words == ["--version"]:
        return _print_version()
    _refuse_lost_folder()
    verb, options = parse(words)
    module, name = (COMMANDS[verb].main or f"{verb}.main").split(".")
    command = getattr(import_module(f"{__package__}.commands.{module}"), name)
    if begin is not None:
        begin()
    return int(command(options))


def _guarded(command: "Callable[[], int]") -> int:
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
        first, *others = map(shortened, error.told().split("\n"))
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
    return words in ([], ["-h"], ["--help"], ["help"])


def _refuse_lost_folder() -> None:
    from .errors import MilabenchError

    try:
        os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        raise MilabenchError("the current folder does not exist any more: cd to another") from None
