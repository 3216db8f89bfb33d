"""The preflight of a node: facts that should be the same on all nodes, and a check of its GPUs."""

import json
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from ..errors import MachineError
from ..events import exit_reason

# Variables that belong to a process or a job, and are not settings of a node.
_OWN = ("SLURM_", "MILABENCH_")
_DEVICES = "VISIBLE_DEVICES"  # they may have UUIDs; the number and the kind of GPUs are facts

LIMIT = 120.0  # seconds for a check: torch on a cold network disk, and eight GPUs that wake up
_END = 1.0  # seconds for a process to end that was killed


def node_facts(provenance: Mapping[str, Any], visible: int) -> dict[str, str]:
    """The facts of a node, by what a sentence calls them; facts that are not known are left out.

    Args:
        visible: how many GPUs the node offers, of which a run may use fewer; 0 for CPU slots.
    """
    host, accelerators = provenance["host"], provenance["accelerators"]
    gpus = accelerators["gpus"].values()
    milabench = provenance["milabench"]
    version = str(milabench["version"])
    if commit := milabench.get("commit"):
        changed = " with changes" if milabench.get("dirty") else ""
        version += f" ({commit[:7]}{changed})"
    facts = {
        "the driver": accelerators.get("driver"),
        "the number of GPUs": str(visible) if visible else None,
        "the GPU": _counted(gpu["product"] for gpu in gpus) if visible else None,
        "the memory of its GPUs": _counted(f"{gpu['memory']['total']:.0f} MiB" for gpu in gpus)
        if visible
        else None,
        "the CPU": f"{host['cpu']['usable']} of {host['cpu']['count']} x {host['cpu']['brand']}",
        "the kernel": host["os"]["release"],
        "python": provenance["python"],
        "milabench": version,
    }
    facts |= provenance["packages"]
    facts |= {name: provenance["pytorch"].get(name) for name in ("torch", "cuda", "hip", "nccl")}
    for name, value in provenance["environment"].items():
        if not name.startswith(_OWN) and not name.endswith(_DEVICES):
            facts[f"${name}"] = value
    return {name: str(value) for name, value in facts.items() if value}


def _counted(names: Iterable[str]) -> str:
    counts = Counter(names)
    if len(counts) == 1:
        return next(iter(counts))
    return " and ".join(f"{count} x {name}" for name, count in sorted(counts.items()))


def run_check(
    command: Sequence[str], environ: Mapping[str, str], limit: float = LIMIT
) -> dict[str, Any]:
    """Run a check of the GPUs; returns what it told, with its ``warnings``.

    Args:
        command: of ``benchmarks/common/preflight.py``, which says what it writes, or one like it.
        limit: seconds after which it hangs.

    Raises:
        MachineError: the GPUs cannot be used; the reason is a clause, without the interpreter. Its
            cause is a ``TimeoutExpired`` if the check has not ended.
    """
    try:
        popen = subprocess.Popen(
            command,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # the terminal's Ctrl-C is this process's alone
        )
    except OSError as error:
        raise MachineError(f"it cannot be executed: {error.strerror}") from error
    try:
        out, err = popen.communicate(timeout=limit)
    except subprocess.TimeoutExpired as late:
        stage = _told(late.stdout or b"").get("stage", "starts")
        raise MachineError(
            f"it has not ended after {limit:g} s, and hangs while it {stage}: look for Xid in "
            f"dmesg and for processes in state D, and restart the machine; if torch is on a slow "
            f"disk, try again"
        ) from late
    finally:
        if popen.poll() is None:
            os.killpg(popen.pid, signal.SIGKILL)
        for pipe in (popen.stdout, popen.stderr):
            if pipe is not None:
                pipe.close()
        with suppress(subprocess.TimeoutExpired):  # the driver may hold it: it is left behind
            popen.wait(_END)
    told = _told(out)
    if problem := told.get("problem"):
        raise MachineError(str(problem))
    if not told.get("done"):
        last = (err.decode(errors="replace").strip().splitlines() or [""])[-1]
        how = exit_reason(popen.returncode) if popen.returncode else "without a word"
        raise MachineError(f"it ended while it {told.get('stage', 'starts')}: {how}: {last}")
    return told


def _told(out: bytes) -> dict[str, Any]:
    told: dict[str, Any] = {"warnings": []}
    for line in out.splitlines():
        with suppress(ValueError):
            match json.loads(line):
                case {"warning": warning}:
                    told["warnings"].append(warning)
                case dict() as fields:
                    told |= fields
    return told
