"""``milabench watch``: follow a run that goes on, and report at its end."""

import sys
from pathlib import Path

from ..dispatch.follow_jobs import watch_run
from ..display import show_progress
from ..events import Outcome
from ..options.report import RunFolderOptions
from ..results.read_state import read_header
from ..results.run_dir import RunDir
from . import report


def main(options: RunFolderOptions) -> int:
    """Follow a run until it ends, and report; Ctrl-C ends only the watching."""
    run = RunDir(Path(options.run).absolute())
    header = read_header(run)
    outcome = header.outcome
    if outcome is None:
        with show_progress(len(header.suite), quiet=False) as observer:
            outcome = watch_run(run, header, observer)
    code = report.show(options.run, sys.stdout)
    return report.CANCELLED if outcome is Outcome.CANCELLED else code
