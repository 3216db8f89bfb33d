"""The options of each command, as records; a new command is a record and a line in ``RECORDS``.

``cli.py`` makes the parsers from these classes, and the records from the command line.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .compare import CompareOptions
    from .export import ExportOptions
    from .history import HistoryOptions
    from .report import ReportOptions, RunFolderOptions
    from .serve import ServeOptions
    from .suite import SuiteOptions

    Options = (
        SuiteOptions
        | RunFolderOptions
        | ReportOptions
        | CompareOptions
        | ExportOptions
        | ServeOptions
        | HistoryOptions
    )

# By the command: the module here, and the class in it. A command imports its own alone.
RECORDS = {
    "run": ("run", "RunOptions"),
    "dry": ("launch", "LaunchOptions"),
    "resolve": ("resolve", "ResolveOptions"),
    "list": ("suite", "SuiteOptions"),
    "prepare": ("suite", "SuiteOptions"),
    "install": ("install", "InstallOptions"),
    "watch": ("report", "RunFolderOptions"),
    "cancel": ("report", "RunFolderOptions"),
    "report": ("report", "ReportOptions"),
    "serve": ("serve", "ServeOptions"),
    "export": ("export", "ExportOptions"),
    "compare": ("compare", "CompareOptions"),
    "history": ("history", "HistoryOptions"),
}


def record(verb: str) -> "type[Options]":
    module, name = RECORDS[verb]
    found: type[Options] = getattr(import_module(f".{module}", __name__), name)
    return found
