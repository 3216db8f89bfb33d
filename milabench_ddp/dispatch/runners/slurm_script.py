"""The jobs of a run as a bash script, to submit them with Slurm alone.

    milabench dry config/sweeps/small.yaml --runner slurm --nodes 4,2,1 | bash

submits a script for each job, in which every node runs its own part. The script asks the scheduler
for the same resources as ``run``. It has no deadlines and cannot be resumed, and a lost node ends
its job, since there is no coordinator to go on without it.
"""

import shlex

from ...config.runner_profile import SETTINGS, RunnerProfile
from ...config.schema import Benchmark
from ...hidden import SECRETS
from ...plan.bash import comment, expanded, here_document, needs, render, within
from ...results.state import JobState
from ..schedulers import split_into_jobs
from ..slurm_queue import placed
from .agents import setup_lines
from .base import ScriptRequest

# Slurm numbers tasks in the order of the step's nodes, or in that of a host file.
_HOSTS = """\
export MASTER_ADDR=
[ "${SLURM_DISTRIBUTION:-}" != arbitrary ] || MASTER_ADDR=$(paste -sd, "$SLURM_HOSTFILE")"""
_ADDRESS = """\
first=$(scontrol show hostnames "${MASTER_ADDR:-$SLURM_JOB_NODELIST}" | head -n 1)
MASTER_ADDR=$(srun --nodes=1 --ntasks=1 --nodelist="$first" ip -4 -o addr show dev {} |
  sed -n 's,.* inet \\([0-9.]*\\)/.*,\\1,p;q')"""
_NODE = (
    "export NODE_RANK=$SLURM_PROCID; "
    'MASTER_ADDR=$(scontrol show hostnames "${MASTER_ADDR:-$SLURM_STEP_NODELIST}" | head -n 1); '
    "exec bash -s"
)
# Without a trap, a signal ends the shell of the batch step, and its commands with it.
_TRAP = "trap : TERM USR2"


def render_jobs(request: ScriptRequest) -> str:
    profile = request.profile
    assert profile is not None
    srun = " ".join(["srun", *map(expanded, SECRETS.learn(list(profile.srun_options)))])
    benchmarks: dict[str, Benchmark] = {}
    for launch in request.launches:
        benchmarks.setdefault(launch.benchmark.name, launch.benchmark)
    parts = ["#!/usr/bin/env bash", *map(comment, request.comments)]
    for job in split_into_jobs(list(benchmarks.values()), request.nodes, profile.allocation):
        mine = [each for each in request.launches if each.benchmark.name in job.benchmarks]
        prepare = setup_lines(
            SECRETS.learn(list(profile.setup)), SECRETS.learn(dict(profile.environment)), expanded
        )
        inside = within(profile.command_prefix, render(mine, request.python))
        of_node = [*needs(prepare), *prepare, inside.rstrip()]
        start, *node = here_document(of_node, "MILABENCH_NODE")
        jobs = 1 + max(each.job or 0 for launch in mine for each in launch.processes)
        port, last = profile.rendezvous_ports or (20000, 29999)
        interface = shlex.quote(profile.network_interface or "")
        of_job = [
            "#!/usr/bin/env bash",
            *(f"#SBATCH --{flag}" for flag in flags(profile, job)),
            _HOSTS,
            *([_ADDRESS.replace("{}", interface)] if profile.network_interface else ()),
            f"export MASTER_PORT=$(({port} + SLURM_JOB_ID % {max(last - port + 2 - jobs, 1)}))",
            f"{srun} bash -c {shlex.quote(_NODE)} {start}",
            *node,
        ]
        start, *body = here_document(of_job, "MILABENCH_JOB")
        parts += ["", f"sbatch {start}", *body]
    return "\n".join(parts) + "\n"


def flags(profile: RunnerProfile, job: JobState) -> list[str]:
    """The options of sbatch for a job, without their dashes."""
    is_alone = "singleton" in str(profile.options.get("dependency"))  # of jobs of one name
    name = "milabench" if is_alone else job.name
    found = []
    for option, value in {"job-name": name, **_options(profile, job.nodes)}.items():
        text = f"{option}={shlex.quote(SECRETS.hide(str(value)))}"
        found.append(option if value is True else text)
    return found


def parameters(profile: RunnerProfile, nodes: int) -> dict[str, object]:
    """The same for submitit."""
    options = {name.replace("-", "_"): value for name, value in _options(profile, nodes).items()}
    return {
        # The agents run the profile's setup, each on its node.
        "slurm_setup": [_TRAP, f"export MILABENCH_SIGNAL_DELAY={profile.signal_delay}"],
        "slurm_use_srun": False,
        "slurm_array_parallelism": profile.array_parallelism,
        # A lost node ends its own benchmark, but not the job: the other benchmarks go on.
        "slurm_additional_parameters": {"no_kill": True, **options},
    }


def _options(profile: RunnerProfile, nodes: int) -> dict[str, object]:
    """The options of sbatch, by their names; True is one without a value."""
    profile = placed(profile, nodes)
    found: dict[str, object] = {"nodes": nodes, "ntasks-per-node": 1}
    for name, setting in SETTINGS.items():
        option, _, form = setting.sbatch.partition("=")
        value = getattr(profile, name)
        found[option] = form.format(value) if form else value
    if not profile.gres:
        del found["gpus-per-node"]
    found |= {name.replace("_", "-"): value for name, value in profile.options.items()}
    said = {option: value for option, value in found.items() if option and value not in (None, "")}
    return {option: value for option, value in said.items() if value is not False}
