"""Asks Slurm's commands, and reads what they say of a job."""

import os
import re
import subprocess
from collections.abc import Mapping

_SECONDS = 30  # to wait for an answer of a busy controller


def output_of(*words: str, cwd: str | None = None) -> str | None:
    """The output of a command; None if it fails or does not answer."""
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=_SECONDS, check=False, cwd=cwd
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def job_record(job: str) -> str:
    """The output of ``scontrol show job``; empty if it does not know the job."""
    return output_of("scontrol", "--oneliner", "show", "job", job) or ""


def field(record: str, name: str) -> str:
    """The value of a field of such a record; empty if it is not there."""
    found = re.search(rf"(?:^|\s){name}=(\S*)", record)
    return found[1] if found else ""


def own_id(environ: Mapping[str, str] = os.environ) -> str:
    """The id of the job of this process; empty outside of a job."""
    array, index = environ.get("SLURM_ARRAY_JOB_ID"), environ.get("SLURM_ARRAY_TASK_ID")
    if array and index:
        return f"{array}_{index}"
    return environ.get("SLURM_JOB_ID", "")
