"""The options of ``install``."""

from dataclasses import dataclass

from .option import option
from .suite import SuiteOptions


@dataclass(frozen=True, kw_only=True)
class InstallOptions(SuiteOptions):
    """The options of ``install``."""

    force: bool = option(
        False, "make the environments again, even if they exist", action="store_true"
    )
