"""Checks the places of a run: the folder of its results, Slurm, and hosts over ssh."""

import os
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import NamedTemporaryFile

from ..config.runner_profile import RunnerProfile
from ..config.system import SystemNode
from ..dispatch.runners.agents import AgentCommand, setup_lines
from ..dispatch.runners.ssh import shell_on
from ..dispatch.slurm_queue import output_of
from ..errors import counts_text
from ..results.node_state import NodeState, said_together
from .diagnosis import Diagnosis, error, ok, warning

_FREE = 5  # GiB: data of `prepare` and an environment of `install`; a run takes far less
_SEEN = ".doctor-"


def folder(base: Path) -> Iterator[Diagnosis]:
    """Whether results can be written, and how much room there is."""
    place = next(each for each in (base.resolve(), *base.resolve().parents) if each.exists())
    try:
        with NamedTemporaryFile(prefix=_SEEN, dir=place):
            free = shutil.disk_usage(place).free >> 30
    except OSError as raised:
        yield error(f"{place} cannot be written: {raised.strerror}", "choose another: --base")
        return
    said = f"{base} can be written; {free:,} GiB are free"
    if free < _FREE:
        yield warning(said, "make room, or choose another with --base")
    else:
        yield ok(said)


def slurm(is_asked: bool, limit: float) -> Iterator[Diagnosis]:
    if not shutil.which("sinfo"):
        yield (error if is_asked else ok)("not installed: no `sinfo` on the PATH")
        return
    answer = output_of("sinfo", "--Node", "--format=%N=%t", "--noheader", seconds=limit)
    if answer is None:
        bad = error if is_asked else warning
        yield bad(f"`sinfo` fails, or does not answer in {limit:g} s", "try `sinfo`")
        return
    states = Counter(dict(each.split("=", 1) for each in answer.split()).values())
    yield ok(f"nodes: {counts_text(states) or 'none'}")


def hosts(
    nodes: Sequence[SystemNode], key: Path | None, base: Path, runner: RunnerProfile, limit: float
) -> Iterator[Diagnosis]:
    def why_not(node: SystemNode) -> str:
        command = AgentCommand(shell_on(node, key), script)
        given = os.fsencode(command.script)
        try:
            done = subprocess.run(
                command.words, input=given, capture_output=True, timeout=limit, check=False
            )
        except subprocess.TimeoutExpired:
            return f"it does not answer in {limit:g} s"
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["without a word"]
        return f"exit status {done.returncode}: {said[-1]}" if done.returncode else ""

    with NamedTemporaryFile(prefix=_SEEN, dir=base) as seen, ThreadPoolExecutor(32) as pool:
        lost = shlex.quote(f"{base} is another folder there, or not there")
        python = runner.python or sys.executable
        script = "\n".join(
            [
                *setup_lines(runner.setup, runner.environment),
                f"test -e {shlex.quote(seen.name)} || {{ echo {lost} >&2; exit 1; }}",
                shlex.join(["exec", *runner.command_prefix, python, "-c", "import milabench_ddp"]),
            ]
        )
        reasons = list(pool.map(why_not, nodes))
    tried = zip(nodes, reasons, strict=True)
    shells = {node.name: shlex.join(shell_on(node, key)) for node in nodes}
    for said in said_together((NodeState(node.name), f": {why}") for node, why in tried if why):
        yield error(said.sentence, f"try {shells[said.nodes[0]]} true")
    if not any(reasons):
        yield ok(f"{len(nodes)} hosts answer, and see {base} and {python}")
