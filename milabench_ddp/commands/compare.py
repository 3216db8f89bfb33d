"""``milabench compare``: say what is slower, faster or the same in other runs."""

import sys
from pathlib import Path

from ..errors import SelectionError
from ..options.reading import CompareOptions
from ..render.text import text_of
from ..report.comparison.compare import comparison_of
from ..report.comparison.comparison_faces import FACES, comparison_blocks
from ..report.comparison.sides import Side
from ..report.plots import write_files
from .final_report import shown_width

SUCCEEDED, SLOWER = 0, 1


def main(options: CompareOptions) -> int:
    before = Side.read(options.before, pool=options.pool)
    after = Side.read(options.after, pool=options.pool)
    history = Side.read(*options.history, pool=True) if options.history else None
    if options.overwrite and options.plots is None:
        raise SelectionError("--overwrite is for --plots")
    found = comparison_of(before, after, options.threshold, history)
    if options.plots is not None:
        # imported here because few comparisons are drawn, and it takes long to import
        from ..report.comparison.ratio_chart import comparison_chart

        charts, folder = [comparison_chart(found)], Path(options.plots)
        said = write_files(charts, folder, overwrite=options.overwrite)
        text = "".join(f"{sentence}\n" for sentence in said)
    elif options.format == "text":
        text = text_of(comparison_blocks(found), shown_width())
    else:
        text = FACES[options.format](found, [before, after])
    sys.stdout.write(text)
    return SLOWER if options.fail_on and found.regressions else SUCCEEDED
