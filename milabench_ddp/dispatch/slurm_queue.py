"""Asks Slurm's commands: the statuses of jobs, why one is asked to stop, and what nodes one gets.

``squeue`` is up to date, but has only jobs that have not ended. ``sacct`` has the jobs that ended,
a second or two late, if the site keeps accounts. ``scontrol`` has them everywhere, but only for a
few minutes.
"""

import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from msgspec import Struct

from ..config.runner_profile import NODELIST, RunnerProfile
from ..events import Outcome, Verdict
from ..hostlist import hostlist
from ..launch.reap import parent
from ..results.state import own_id

PREEMPTED = Verdict(Outcome.CANCELLED, "pre-empted by another job")
LIMIT = Verdict(Outcome.TIMEOUT, "ended by the time limit of its job")
CANCELLED = Verdict(Outcome.CANCELLED, "its job was cancelled")
OUT_OF_MEMORY = "OUT_OF_MEMORY"
_ENDED = ("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL",
          OUT_OF_MEMORY, "PREEMPTED", "TIMEOUT")  # fmt: skip
_FAILED = ("BOOT_FAIL", "FAILED", "NODE_FAIL", OUT_OF_MEMORY)
NO_FILES = "could not open the files of its job"
_NO_FILES_SIGNAL = "53"  # Slurm's sign of that; it is no signal
_OOM_SIGNAL = "125"  # Slurm's sign of want of memory, which its word for the end says, too
_TRIES = 3
_MOST_IN_ARRAY = 1001
_ID = re.compile(r"\d+(?:_\d+)?")
_SECONDS = 30  # to wait for an answer of a busy controller
_SOON = 5  # where others wait meanwhile


def output_of(*words: str, cwd: str | None = None, seconds: float = _SECONDS) -> str | None:
    """The output of a command; None if it fails or does not answer.

    It is asked again where a signal ends it: Slurm signals all processes of a job.
    """
    for _ in range(_TRIES):
        try:
            done = subprocess.run(
                words, capture_output=True, text=True, timeout=seconds, check=False, cwd=cwd
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        if done.returncode >= 0:
            break
    return done.stdout if done.returncode == 0 else None


def job_record(job: str) -> str:
    return output_of("scontrol", "--oneliner", "show", "job", job) or ""


def field(record: str, name: str) -> str:
    found = re.search(rf"(?:^|\s){name}=(\S*)", record)
    return found[1] if found else ""


def most_in_array() -> int:
    """How many jobs an array may have; Slurm's default if it does not answer."""
    said = output_of("scontrol", "show", "config") or ""
    found = re.search(r"^MaxArraySize\s*=\s*(\d+)", said, re.MULTILINE)
    return max(int(found[1]), 1) if found else _MOST_IN_ARRAY


class JobStatus(Struct, frozen=True):
    """A job's status: the scheduler's word, whether it has ended, why it waits, how it failed."""

    word: str
    has_ended: bool
    why: str = ""
    detail: str = ""  # of the end of a job that failed


def statuses(ids: Sequence[str]) -> dict[str, JobStatus] | None:
    """The statuses of jobs by id (``12``, or ``12_3`` of an array), without unknown jobs.

    None if Slurm does not answer, which says nothing about the jobs.
    """
    if not ids:
        return {}
    queued = output_of("squeue", "--noheader", "--array", "--me", "--format=%i|%T|%M|%N|%r")
    if queued is None:
        return None
    found = {}
    line = r"^(\S+)\|(\w+)\|(\S+)\|(\S*)\|(.*)$"
    for job, word, ran, nodes, why in re.findall(line, queued, re.MULTILINE):
        # One that starts again is COMPLETING, too, but has not run yet.
        is_over = word == "COMPLETING" and ran != "0:00" and _are_silent(nodes)
        if job in ids and not is_over:
            shown = "" if why == "None" else why
            found[job] = JobStatus(word, word in _ENDED, shown)
    for job in ids:
        if job not in found and (status := _last_status(job)):
            found[job] = status
    return found


def _are_silent(nodes: str) -> bool:
    """Whether no node answers: a job is COMPLETING until each has, or Slurm has given it up."""
    found = output_of(
        "sinfo", "--noheader", "--all", "--responding", f"--nodes={nodes}", "--format=%T"
    )
    return found is not None and not found.strip()


def _last_status(job: str) -> JobStatus | None:
    """The status of a job that the queue does not have, from accounts and ``scontrol``."""
    rows = output_of("sacct", "-X", "--noheader", "--parsable2",
                     "--format=State,ExitCode,NodeList", f"--jobs={job}")  # fmt: skip
    known = re.findall(r"^(\w+)[^|]*\|(.*)\|(.*)$", rows or "", re.MULTILINE)
    word, code, nodes = known[-1] if known else ("", "", "")
    if record := job_record(job):  # accounts have 9 for the exit status 137
        word = word or field(record, "JobState")
        code, nodes = field(record, "ExitCode"), field(record, "BatchHost")
    if not word:
        return None
    detail = _how_failed(code, nodes) if word in _FAILED else ""
    return JobStatus(word, word in _ENDED, detail=detail)


def _how_failed(code: str, nodes: str) -> str:
    host = re.sub(r"\[(\d+).*|,.*", r"\1", nodes)  # the first of node[1-3]
    status, _, signal = code.partition(":")
    where = f" on {host}" if host else ""
    if signal == _NO_FILES_SIGNAL:
        return f"{host or 'its first node'} {NO_FILES}"
    if signal not in ("", "0", _OOM_SIGNAL):
        return f"killed by signal {signal}{where}"
    return f"exit status {status}{where}" if status not in ("", "0") else ""


def why_stopped() -> Verdict:
    """Why this job received a signal, as the verdict on the benchmarks that it interrupts."""
    text = job_record(own_id()) if own_id() else ""
    if field(text, "PreemptTime") not in ("", "None"):
        return PREEMPTED
    word = field(text, "JobState")
    if field(text, "Reason") == "TimeLimit":  # the limit was reached; the state is COMPLETING
        return LIMIT
    if word == "RUNNING" and _is_near_limit(text):
        return LIMIT
    return {"TIMEOUT": LIMIT, "PREEMPTED": PREEMPTED}.get(word, CANCELLED)


def _is_near_limit(text: str) -> bool:
    run, limit = _seconds(field(text, "RunTime")), _seconds(field(text, "TimeLimit"))
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


def cancel(ids: Sequence[str]) -> bool:
    """Cancel jobs; returns whether Slurm accepted that, for those that are ids."""
    known = [job for job in ids if _ID.fullmatch(job)]  # `--user=me` would end all of a user's
    return not known or output_of("scancel", *known) is not None


def requeue(job: str) -> bool:
    return output_of("scontrol", "requeue", job) is not None


def resize(job: str, nodes: int, profile: RunnerProfile) -> bool:
    if field(job_record(job), "JobState") == "RUNNING":  # it would lose nodes that it uses
        return False
    wanted = [f"NumNodes={nodes}", f"NumTasks={nodes}"]  # a job has a task on each node
    chosen = placed(profile, nodes)
    if chosen != profile:
        wanted.append(f"ReqNodeList={chosen.options.get(NODELIST, '')}")
        wanted.append(f"ExcNodeList={chosen.exclude or ''}")
    return output_of("scontrol", "update", f"JobId={job}", *wanted) is not None


def why_dead(node: str) -> str:
    """What Slurm says of a node that does not respond to it; empty of others."""
    told = output_of(
        "sinfo", "--noheader", "--dead", "--all", f"--nodes={node}", "--format=%T", seconds=_SOON
    )
    states = (told or "").split()
    return f"Slurm has it as {states[0].rstrip('*')}, which does not respond" if states else ""


@contextmanager
def ended_by_slurm() -> Iterator[None]:
    """Cancel this job after the block if the daemon that waits for its batch script is gone.

    Slurm would not see that the script ends, and would hold the nodes until the time limit.
    """
    before = parent(os.getppid())
    try:
        yield
    finally:
        if own_id() and parent(os.getppid()) != before:
            cancel([own_id()])


def placed(profile: RunnerProfile, nodes: int) -> RunnerProfile:
    """The profile for a job on this many nodes, of those that its ``nodelist`` names.

    Slurm gives a job all nodes of its list, and refuses one that asks for fewer. So if the list is
    longer, every other node is excluded instead, and Slurm chooses from the list. It also refuses a
    node that is listed and excluded: that leaves the list, and Slurm chooses another. A name that
    it does not know stays in the list, for Slurm to refuse. The profile stays as it is if Slurm
    does not answer.
    """
    stated = profile.options.get(NODELIST)
    if not isinstance(stated, str):
        return profile
    listed = expanded(stated)
    known = (output_of("sinfo", "--all", "--noheader", "--Node", "--format=%N") or "").split()
    if not known:
        return profile
    options = {name: value for name, value in profile.options.items() if name != NODELIST}
    if len(listed) <= nodes:
        excluded = set(expanded(profile.exclude or ""))
        if excluded.isdisjoint(listed):
            return profile
        kept = [name for name in listed if name not in excluded]
        return replace(profile, options=options | ({NODELIST: hostlist(kept)} if kept else {}))
    if unknown := set(listed).difference(known):
        options[NODELIST] = hostlist(unknown)
    others = [profile.exclude or "", hostlist(set(known).difference(listed))]
    return replace(profile, options=options, exclude=",".join(filter(None, others)) or None)


def expanded(nodes: str) -> list[str]:
    """``node[1-2]`` as ``node1`` and ``node2``; empty if Slurm does not answer."""
    return (output_of("scontrol", "show", "hostnames", nodes) or "").split()
