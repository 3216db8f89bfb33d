"""The nodes that a job of Slurm asks for, and those that it has."""

import os
import re
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from ..config.runner_profile import NODELIST, RunnerProfile, with_settings
from ..errors import DispatchError
from ..files import read_bytes
from ..hostlist import hostlist, shown_nodes
from ..node_lists import listed_nodes
from ..results.state import own_id
from .slurm_queue import expanded, field, job_record, output_of

_UNUSABLE = ("down", "drain", "fail", "error", "unknown", "future")  # Slurm's words for states


def fewest_cpus(profile: RunnerProfile) -> int | None:
    """The CPUs of the smallest node that a job may get; None if Slurm does not say.

    They are those of the partition, or of the ``nodelist`` in it; with GPUs, if the job wants some.
    """
    words = ["sinfo", "--noheader", "--Node", "--format=%P %c %G"]
    if profile.partition is not None:
        words.append(f"--partition={profile.partition}")
    if NODELIST in profile.options:
        words.append(f"--nodes={profile.options[NODELIST]}")
    rows = re.findall(r"^(\S+) (\d+) (\S+)$", output_of(*words) or "", re.MULTILINE)
    nodes = [
        (int(cpus), "gpu" in gres)
        for partition, cpus, gres in rows
        if profile.partition is not None or partition.endswith("*")  # the default one
    ]
    with_gpus = [node for node in nodes if node[1]] if profile.gpus_per_node else []
    return min((cpus for cpus, _ in with_gpus or nodes), default=None)


def without_absent(profile: RunnerProfile) -> tuple[RunnerProfile, dict[str, str]]:
    """The profile without those of its nodes for which a job would wait for ever; Slurm's reasons.

    Raises:
        DispatchError: it names no other.
    """
    nodes = profile.options.get(NODELIST)
    words = ("sinfo", "--all", "--noheader", "--Node", f"--nodes={nodes}", "--format=%N %T %E")
    said = (output_of(*words) or "") if isinstance(nodes, str) else ""
    absent = {}
    for name, state, reason in re.findall(r"^(\S+) (\S+) (.*)$", said, re.MULTILINE):
        if state.endswith("*") or state.startswith(_UNUSABLE):
            why = f"Slurm has it as {state.rstrip('*')}"
            if reason.strip() not in ("", "none"):
                why += f" ({reason.strip()})"
            elif state.endswith("*"):
                why += ", which does not respond"
            absent[name] = why
    if not absent:
        return profile, {}
    kept = set(listed_nodes(str(nodes))).difference(absent)
    if not kept:
        why = "; ".join(dict.fromkeys(absent.values()))
        raise DispatchError(f"{shown_nodes(absent)}: none of these nodes can be used: {why}")
    chosen = {**profile.options, NODELIST: hostlist(kept)}
    return with_settings(profile, {"options": chosen}), absent


def keep_nodes(count: int) -> list[str]:
    """Give back all nodes of this job but the first ones; returns the nodes that it still has.

    A job that Slurm itself starts again gets as many nodes as before, even if it needs fewer now.
    They are in the order in which Slurm numbers the tasks of a step: that of the job's list, or
    that of the host file of ``--distribution=arbitrary``.
    """
    names = expanded(os.environ.get("SLURM_JOB_NODELIST", ""))
    if not names:
        raise DispatchError("`scontrol show hostnames` does not name the nodes of this job")
    if len(names) > count:
        with TemporaryDirectory() as folder:  # scontrol leaves scripts where it runs
            output_of("scontrol", "update", f"JobId={own_id()}", f"NumNodes={count}", cwd=folder)
    kept, order = names[:count], list[str]()
    if os.environ.get("SLURM_DISTRIBUTION") == "arbitrary":
        with suppress(OSError, UnicodeError):
            listed = read_bytes(Path(os.environ.get("SLURM_HOSTFILE", ""))).decode().split()
            order = [name for name in expanded(",".join(listed)) if name in kept]
    return list(dict.fromkeys([*order, *kept]))


def has_first_node() -> bool:
    """Whether this job has its first node still, where its coordinator runs.

    Slurm takes a node that does not answer out of a job, which goes on without it.
    """
    record = job_record(own_id())
    first = field(record, "BatchHost")
    names = expanded(field(record, "NodeList")) if first else []
    return not names or first in names
