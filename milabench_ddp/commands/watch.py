"""``milabench watch``: follow a run that goes on, and report at its end."""

import sys

from ..codec import read_record
from ..dispatch.follow import watch_run
from ..dispatch.run_context import RunPlan
from ..display import show_progress
from ..errors import RunDirError
from ..events import Outcome
from ..options.reading import RunFolderOptions
from ..results.read_run import existing
from ..results.read_state import read_header
from . import final_report
from .forecast import outline


def main(options: RunFolderOptions) -> int:
    """Follow a run until it ends, and report; Ctrl-C ends only the watching."""
    run = existing(options.run)
    header = read_header(run)
    outcome = header.outcome
    if outcome is None:
        try:
            plan = read_record(run.plan_json, RunPlan)
        except RunDirError:
            plan = None  # of an earlier version
        shown = outline(run, header, plan, list(header.suite), is_watched=True)
        with show_progress(shown, quiet=False) as observer:
            outcome = watch_run(run, header, observer)
    code = final_report.show(options.run, sys.stdout)
    return final_report.CANCELLED if outcome is Outcome.CANCELLED else code
