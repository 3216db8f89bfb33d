"""The options of each command, as records; a new command is a record and a line in ``RECORDS``.

``cli.py`` makes the parsers from these classes, and the records from the command line.
"""

from collections.abc import Mapping

from .compare import CompareOptions
from .export import ExportOptions
from .history import HistoryOptions
from .report import ReportOptions, RunFolderOptions
from .run import DryOptions, RunOptions
from .serve import ServeOptions
from .suite import InstallOptions, ResolveOptions, SuiteOptions

Options = (
    SuiteOptions
    | RunFolderOptions
    | ReportOptions
    | CompareOptions
    | ExportOptions
    | ServeOptions
    | HistoryOptions
)

RECORDS: Mapping[str, type[Options]] = {
    "run": RunOptions,
    "dry": DryOptions,
    "resolve": ResolveOptions,
    "list": SuiteOptions,
    "prepare": SuiteOptions,
    "install": InstallOptions,
    "watch": RunFolderOptions,
    "cancel": RunFolderOptions,
    "report": ReportOptions,
    "serve": ServeOptions,
    "export": ExportOptions,
    "compare": CompareOptions,
    "history": HistoryOptions,
}
