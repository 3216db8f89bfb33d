"""The options of ``resolve``."""

from dataclasses import dataclass

from .option import option
from .suite import SuiteOptions


@dataclass(frozen=True, kw_only=True)
class ResolveOptions(SuiteOptions):
    """The options of ``resolve``."""

    explain: bool = option(False, "show the file and the line of each value", action="store_true")
