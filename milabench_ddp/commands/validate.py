"""``milabench validate``: measure the nodes of a cluster, and say which of them pass."""

from dataclasses import replace

from ..errors import SelectionError
from ..options.suite import LEVELS, ValidateOptions
from . import run

SUITE = "validate"


def main(options: ValidateOptions) -> int:
    if options.rehearse:
        from . import rehearse  # seldom asked for

        return rehearse.main(replace(options, config=options.config or SUITE))
    if options.level and (options.select or options.resume is not None):
        other = "--resume" if options.resume is not None else "--select"
        raise SelectionError(f"--level goes without {other}, which says what is measured")
    if options.resume is not None:
        return run.main(options.of_run())
    select = options.select or (f"@{options.level or LEVELS[0]}",)
    return run.main(replace(options.of_run(), config=options.config or SUITE, select=select))
