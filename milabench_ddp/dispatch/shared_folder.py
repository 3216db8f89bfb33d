"""Checks that a node and its coordinator see the same run folder, and that the node can write it.

The node leaves a file, a *witness*, with a name that was never used: no cache of a network file
system can have it. The coordinator looks for it.
"""

import uuid
from contextlib import suppress

from ..errors import RunDirError, disk_errors
from ..results.run_dir import RunDir, make_folder

_ADVICE = "all nodes must see the run folder; choose such a place with --base"


def leave_witness(run: RunDir) -> str:
    if not run.plan_json.exists():
        raise RunDirError(f"{run.plan_json} is not there: {_ADVICE}")
    make_folder(run.nodes)
    name = f".seen-{uuid.uuid4().hex}"
    with disk_errors("write", run.nodes, f": {_ADVICE}"):
        (run.nodes / name).touch()
    return name


def why_not_shared(run: RunDir, witness: str) -> str:
    """Why the folder in which a node has left its witness is not this one; empty if it is."""
    if not witness:
        return ""
    path = run.nodes / witness
    if not path.exists():
        return f"{run.path} is another folder there: {_ADVICE}"
    with suppress(OSError):
        path.unlink()
    return ""
