"""The jobs of a run as bash: what anybody submits who has only Slurm.

    milabench dry config/sweeps/small.yaml --runner slurm --nodes 4,2,1 | bash

submits, for each job, a script whose every node runs the bash of its own part. What it asks the
scheduler for is what ``run`` asks for; it has neither the deadlines of ``run`` nor its resuming,
and a node that dies takes the job with it, for nobody would go on without it.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from ..config.runner_profile import SETTINGS, RunnerProfile
from ..plan.bash import render
from ..plan.launch import Launch
from .jobs import Job
from .slurm import other_options, setup_lines

_PORT = "export MASTER_PORT=$((20000 + SLURM_JOB_ID % 10000))"
_FIRST = 'export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)'
_NODE = "export NODE_RANK=$SLURM_NODEID; exec bash -s"


def render_jobs(
    profile: RunnerProfile,
    wanted: Sequence[Job],
    launches: Mapping[str, Sequence[Launch]],
    python: str,
    comments: Sequence[str],
) -> str:
    """A bash script that submits these jobs.

    Args:
        profile: of the runner.
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
            *(f"#SBATCH --{flag}" for flag in flags(profile, job)),
            *setup_lines(profile),
            _FIRST,
            _PORT,
            f"srun bash -c {shlex.quote(_NODE)} <<'MILABENCH_NODE'",
            script.rstrip(),
            "MILABENCH_NODE",
        ]
        parts += ["", "sbatch <<'MILABENCH_JOB'", *body, "MILABENCH_JOB"]
    return "\n".join(parts) + "\n"


def flags(profile: RunnerProfile, job: Job) -> list[str]:
    """The options of sbatch for a job, without the dashes."""
    words: dict[str, Any] = {"job-name": job.name, "nodes": job.nodes, "ntasks-per-node": 1}
    for name, setting in SETTINGS.items():
        value = getattr(profile, name)
        if setting.sbatch:
            option, _, form = setting.sbatch.partition("=")
            words[option] = form.format(value) if form else value
    for name, value in other_options(profile).items():
        words[name.replace("_", "-")] = value
    given = {key: value for key, value in words.items() if value is not None}
    return [key if value is True else f"{key}={value}" for key, value in given.items()]
