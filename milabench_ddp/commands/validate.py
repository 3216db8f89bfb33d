"""``milabench validate``: measure the nodes of a cluster, and say which of them pass."""

from dataclasses import fields, replace

from ..errors import SelectionError
from ..options.suite import LEVELS, MeasureOptions, RunOptions, ValidateOptions
from . import run

SUITE = "validate"


def main(options: ValidateOptions) -> int:
    if options.rehearse:
        from . import rehearse  # seldom asked for

        return rehearse.main(replace(options, config=options.config or SUITE))
    if options.level and (options.select or options.resume is not None):
        other = "--resume" if options.resume is not None else "--select"
        raise SelectionError(f"--level goes without {other}, which says what is measured")
    asked = {each.name: getattr(options, each.name) for each in fields(MeasureOptions)}
    if options.resume is None:
        asked["config"] = options.config or SUITE
        asked["select"] = options.select or (f"@{options.level or LEVELS[0]}",)
    return run.main(RunOptions(**asked))
