"""The jobs of a run as bash: what anybody submits who has only Slurm.

    milabench dry config/sweeps/small.yaml --runner slurm --nodes 4,2,1 | bash

submits, for each job, a script whose every node runs the bash of its own part. What it asks the
scheduler for is what ``run`` asks for; it has neither the deadlines of ``run`` nor its resuming,
and a node that dies takes the job with it, for nobody would go on without it.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from ..config.runner import Runner
from ..plan.bash import render
from ..plan.command import Launch
from .jobs import Job
from .slurm import options, parameters

_PORT = "export MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))"
_FIRST = 'export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)'
_NODE = "export NODE_RANK=$SLURM_NODEID; exec bash -s"


def render_jobs(
    runner: Runner,
    wanted: Sequence[Job],
    launches: Mapping[str, Sequence[Launch]],
    python: str,
    comments: Sequence[str],
) -> str:
    """A bash script that submits these jobs.

    Args:
        runner: the profile.
        wanted: the jobs.
        launches: of each point, by its name.
        python: the interpreter that looks for free ports.
        comments: stand at its top.
    """
    parts = ["#!/usr/bin/env bash", *(f"# {text}" for text in comments)]
    for job in wanted:
        script = render([each for name in job.points for each in launches[name]], python)
        body = [
            "#!/usr/bin/env bash",
            *(f"#SBATCH --{flag}" for flag in flags(runner, job)),
            *_setup(runner),
            _FIRST,
            _PORT,
            f"srun bash -c {shlex.quote(_NODE)} <<'MILABENCH_NODE'",
            script.rstrip(),
            "MILABENCH_NODE",
        ]
        parts += ["", "sbatch <<'MILABENCH_JOB'", *body, "MILABENCH_JOB"]
    return "\n".join(parts) + "\n"


def flags(runner: Runner, job: Job) -> list[str]:
    """What sbatch is asked for, as its options without the dashes."""
    told = parameters(runner, job.nodes)
    words: dict[str, Any] = {
        "job-name": job.name,
        "nodes": job.nodes,
        "ntasks-per-node": 1,
        "time": told["timeout_min"],
        "gpus-per-node": told.get("gpus_per_node"),
        "cpus-per-task": told.get("cpus_per_task"),
        "signal": f"USR2@{told['slurm_signal_delay_s']}",
    }
    for name in ("partition", "account", "qos", "exclude", "constraint"):
        words[name] = told.get(f"slurm_{name}")
    more = {key.replace("_", "-"): value for key, value in options(runner).items()}
    given = {key: value for key, value in {**words, **more}.items() if value is not None}
    return [key if value is True else f"{key}={value}" for key, value in given.items()]


def _setup(runner: Runner) -> list[str]:
    return [str(line) for line in parameters(runner, 1)["slurm_setup"]]
