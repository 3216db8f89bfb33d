"""``milabench cancel``: end the jobs of a run; what was measured stays."""

import sys
from pathlib import Path

from ..dispatch.engine import engine_of_run
from ..errors import DispatchError, RunDirError
from ..options import RunFolderOptions
from ..results.run_dir import RunDir
from ..results.runfile import read_state


def main(options: RunFolderOptions) -> int:
    """Cancel the jobs that have not ended; 0 also where there are none."""
    rundir = RunDir(Path(options.run).absolute())
    state = read_state(rundir.run_json)
    if not state.jobs:
        raise RunDirError(
            f"{options.run} has no jobs of a scheduler: stop its command, by Ctrl-C or SIGTERM"
        )
    engine = engine_of_run(rundir)
    known = engine.states([job["id"] for job in state.jobs])
    if known is None:
        raise DispatchError(f"Slurm does not answer (`squeue` fails here): {options.run} goes on")
    going = [job for job, each in known.items() if not each.has_ended]
    if not engine.cancel(going):
        raise DispatchError(f"Slurm did not take `scancel {' '.join(going)}`")
    print(f"cancelled: {', '.join(going) or 'nothing, all have ended'}", file=sys.stderr)
    return 0
