"""``milabench history``: how benchmarks and devices changed over runs."""

import sys

from ..options.reading import HistoryOptions
from ..render.text import text_of
from ..report.history.history import history_of
from ..report.history.history_faces import FACES, history_blocks
from ..results.find_run import run_folders
from .final_report import shown_width


def main(options: HistoryOptions) -> int:
    history = history_of(run_folders(options.runs), options.select, options.threshold)
    if options.format == "text":
        text = text_of(history_blocks(history), shown_width())
    else:
        text = FACES[options.format](history)
    sys.stdout.write(text)
    has_slower = any(change.way == "slower" for change in history.changes)
    return 1 if options.fail_on and has_slower else 0
