"""Jobs of submitit's local executor: processes of this host, known by their pids."""

import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from .scheduler import JobState

_RUNNING, _GONE = JobState("RUNNING", False), JobState("COMPLETED", True)


def states(ids: Sequence[str]) -> dict[str, JobState]:
    """The states of jobs."""
    return {job: _RUNNING if _exists(job) else _GONE for job in ids}


def cancel(ids: Sequence[str]) -> bool:
    """Ask jobs to end; those that have ended are left alone."""
    for job in filter(_exists, ids):
        with suppress(ProcessLookupError):
            os.kill(int(job), signal.SIGTERM)
    return True


def _exists(job: str) -> bool:
    """Whether it is there, and not somebody else's process that has its pid by now."""
    try:
        return b"submitit" in Path("/proc", job, "cmdline").read_bytes()
    except OSError:
        return False
