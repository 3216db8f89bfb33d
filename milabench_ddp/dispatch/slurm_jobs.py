"""Jobs of Slurm: their statuses, why one is asked to stop, and how to cancel or restart them.

``squeue`` is up to date, but has only jobs that have not ended. ``sacct`` has the jobs that ended,
a second or two late, if the site keeps accounts. ``scontrol`` has them everywhere, but only for a
few minutes.
"""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from ..errors import DispatchError
from ..events import Outcome, Verdict

PREEMPTED = Verdict(Outcome.CANCELLED, "pre-empted by another job")
LIMIT = Verdict(Outcome.TIMEOUT, "ended by the time limit of its job")
CANCELLED = Verdict(Outcome.CANCELLED, "its job was cancelled")
_ENDED = ("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL",
          "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT")  # fmt: skip
_FAILED = ("BOOT_FAIL", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY")
NO_FILES = "could not open the files of its job"
_NO_FILES_SIGNAL = "53"  # Slurm's sign of that; it is no signal
_OOM_SIGNAL = "125"  # Slurm's sign of want of memory, which its word for the end says, too
_SECONDS = 30  # to wait for an answer of a busy controller
_TRIES = 3
RESTARTS = 3


@dataclass(frozen=True)
class JobStatus:
    """A job's status: the scheduler's word, whether it has ended, why it waits, how it failed."""

    word: str
    has_ended: bool
    why: str = ""
    detail: str = ""  # of the end of a job that failed


def statuses(ids: Sequence[str]) -> dict[str, JobStatus] | None:
    """The statuses of jobs by id (``12``, or ``12_3`` of an array), without unknown jobs.

    None if Slurm does not answer, which says nothing about the jobs.
    """
    queued = _ask("squeue", "--noheader", "--array", "--me", "--format=%i|%T|%r")
    if queued is None:
        return None
    found = {}
    for job, word, why in re.findall(r"^(\S+)\|(\w+)\|(.*)$", queued, re.MULTILINE):
        if job in ids:
            shown = "" if why == "None" else why
            found[job] = JobStatus(word, word in _ENDED, shown, _how_failed(job, word))
    for job in ids:
        if job not in found and (word := _last_word(job)):
            found[job] = JobStatus(word, word in _ENDED, detail=_how_failed(job, word))
    return found


def _how_failed(job: str, word: str) -> str:
    """The exit status and the first node of a job that failed; empty if that is not known."""
    if word not in _FAILED:
        return ""
    record = _job_record(job)
    code, host = _field(record, "ExitCode"), _field(record, "BatchHost")
    if not record:
        rows = _ask("sacct", "-X", "--noheader", "--parsable2", "--format=ExitCode,NodeList",
                    f"--jobs={job}")  # fmt: skip
        code, _, nodes = (rows or "").strip().partition("|")
        host = re.sub(r"\[(\d+).*|,.*", r"\1", nodes)  # the first of node[1-3]
    status, _, signal = code.partition(":")
    where = f" on {host}" if host else ""
    if signal == _NO_FILES_SIGNAL:
        return f"{host or 'its first node'} {NO_FILES}"
    if signal not in ("", "0", _OOM_SIGNAL):
        return f"killed by signal {signal}{where}"
    return f"exit status {status}{where}" if status not in ("", "0") else ""


def _last_word(job: str) -> str:
    """The last state of a job that is not in the queue any more; empty if unknown."""
    rows = _ask("sacct", "-X", "--noheader", "--parsable2", "--format=State", f"--jobs={job}")
    words = [row.split()[0] for row in (rows or "").splitlines() if row.split()]
    if words:
        return words[-1]
    return _field(_job_record(job), "JobState")


def _job_record(job: str) -> str:
    """The output of ``scontrol show job``; empty if it does not know the job."""
    return _ask("scontrol", "--oneliner", "show", "job", job) or ""


def _field(text: str, name: str) -> str:
    found = re.search(rf"(?:^|\s){name}=(\S*)", text)
    return found[1] if found else ""


def why_stopped() -> Verdict:
    """Why this job received a signal, as the verdict on the benchmarks that it interrupts."""
    job = own_id()
    # Slurm signals all processes of a step: a signal may end `scontrol`, so it is tried again.
    answers = (_job_record(job) for _ in range(_TRIES if job else 0))
    text = next(filter(None, answers), "")
    if _field(text, "PreemptTime") not in ("", "None"):
        return PREEMPTED
    word = _field(text, "JobState")
    if _field(text, "Reason") == "TimeLimit":  # the limit was reached; the state is COMPLETING
        return LIMIT
    if word == "RUNNING" and _is_near_limit(text):
        return LIMIT
    return {"TIMEOUT": LIMIT, "PREEMPTED": PREEMPTED}.get(word, CANCELLED)


def _is_near_limit(text: str) -> bool:
    """Whether the time left is so short that Slurm sends the warning that the job asked for."""
    run, limit = _seconds(_field(text, "RunTime")), _seconds(_field(text, "TimeLimit"))
    if run is None or limit is None:
        return False
    # Slurm sends its warning up to a minute early.
    return limit - run <= float(os.environ.get("MILABENCH_SIGNAL_DELAY", "90")) + 70


def _seconds(text: str) -> float | None:
    """``D-HH:MM:SS`` in seconds."""
    found = re.fullmatch(r"(?:(\d+)-)?(\d+):(\d+):(\d+)", text)
    if not found:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def own_id(environ: Mapping[str, str] = os.environ) -> str:
    """The id of the job of this process; empty outside of a job."""
    array, index = environ.get("SLURM_ARRAY_JOB_ID"), environ.get("SLURM_ARRAY_TASK_ID")
    return f"{array}_{index}" if array and index else environ.get("SLURM_JOB_ID", "")


def cancel(ids: Sequence[str]) -> bool:
    """Cancel jobs; returns whether Slurm accepted that."""
    return not ids or _ask("scancel", *ids) is not None


def requeue(job: str) -> bool:
    """Let a job start again; returns whether Slurm accepted that."""
    return _ask("scontrol", "requeue", job) is not None


def has_first_node() -> bool:
    """Whether this job has its first node still, where its coordinator runs.

    Slurm takes a node that does not answer out of a job, which goes on without it.
    """
    record = _job_record(own_id())
    first = _field(record, "BatchHost")
    names = _ask("scontrol", "show", "hostnames", _field(record, "NodeList")) if first else None
    return names is None or first in names.split()


@contextmanager
def ended_by_slurm() -> Iterator[None]:
    """Cancel this job after the block if the daemon that waits for its batch script is gone.

    Slurm would not see that the script ends, and would hold the nodes until the time limit.
    """
    before = _daemon()
    try:
        yield
    finally:
        if own_id() and _daemon() != before:
            cancel([own_id()])


def _daemon() -> str:
    """The pid of the parent of this process's parent, which is the batch script."""
    try:
        status = Path(f"/proc/{os.getppid()}/status").read_text()
    except OSError:
        return ""
    _, _, rest = status.partition("\nPPid:")
    return rest.partition("\n")[0].strip()


def start_again() -> None:
    """Let this job start again; after ``RESTARTS`` restarts, cancel it: nodes are not the cause."""
    job = own_id()
    if not job:
        return
    if int(os.environ.get("SLURM_RESTART_COUNT", "0")) < RESTARTS:
        requeue(job)
    else:
        cancel([job])


def resize(job: str, nodes: int) -> bool:
    """Let a waiting job ask for so many nodes; returns whether Slurm accepted that."""
    wanted = (f"NumNodes={nodes}", f"NumTasks={nodes}")  # a job has a task on each node
    return _ask("scontrol", "update", f"JobId={job}", *wanted) is not None


def keep_nodes(count: int) -> list[str]:
    """Give back all nodes of this job but the first ones; returns the nodes that it still has.

    A job that starts again gets as many nodes as before, even if it needs fewer by now.

    Raises:
        DispatchError: Slurm does not name them.
    """
    names = host_names()
    if len(names) > count:
        with TemporaryDirectory() as folder:  # scontrol leaves scripts where it runs
            _ask("scontrol", "update", f"JobId={own_id()}", f"NumNodes={count}", cwd=folder)
    return names[:count]


def host_names() -> list[str]:
    """The nodes of this job, in Slurm's order, as Slurm names them.

    Raises:
        DispatchError: Slurm does not name them.
    """
    names = _ask("scontrol", "show", "hostnames", os.environ.get("SLURM_JOB_NODELIST", ""))
    if not names:
        raise DispatchError("`scontrol show hostnames` does not name the nodes of this job")
    return names.split()


def _ask(*words: str, cwd: str | None = None) -> str | None:
    """The output of a command; None if it fails or does not answer."""
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=_SECONDS, check=False, cwd=cwd
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
