"""The site's own earlier runs: what is compared where peers cannot tell."""

from contextlib import suppress
from glob import escape

from ...errors import RunDirError
from ...results.find_run import begun, newest_first
from ...results.former import NEWEST
from ...results.read import read_events
from ...results.read_state import read_header
from ...results.records import Run
from ...results.run_dir import RunDir
from ..model import Row
from ..once import once
from ..process import ProcessResult
from ..summary import summary_row

MOST_FILES = 64  # of a run: so many devices are a spread


@once
def earlier_rows(row: Row) -> list[Row]:
    """The benchmark in the newest runs beside its own that began before, of one configuration."""
    own = row.processes[0].run
    planned = own.state and own.state.header.suite.get(row.name)
    if not planned:
        return []
    folders = {path.parent for path in own.path.absolute().parent.glob("*/run.json")}
    before = [path for path in newest_first(folders) if begun(path) < begun(own.path)]
    rows = []
    for path in before[:NEWEST]:
        with suppress(RunDirError):
            if read_header(RunDir(path)).suite.get(row.name) != planned:
                continue
            files = sorted(path.glob(f"{escape(row.name)}.*.data"))[:MOST_FILES]
            records = [each for each in map(read_events, files) if each.name == row.name]
            run = Run(path, None, tuple(each for each in records if not each.faults), ())
            processes = [ProcessResult(run, record) for record in run.records]
            if ended := [process for process in processes if not process.failed]:
                rows.append(summary_row(ended, None))
    return rows
