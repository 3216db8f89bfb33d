"""The options of ``completion``."""

from dataclasses import dataclass

from .option import option


@dataclass(frozen=True, kw_only=True)
class CompletionOptions:
    shell: str = option(
        "", "the shell", is_positional=True, choices=("bash", "zsh", "fish"), metavar="SHELL"
    )
    line: str = option(
        "", "print what a command line may go on with, as the script asks",
        is_positional=True, nargs="?", metavar="LINE",
    )  # fmt: skip
