"""``milabench dry``: print the bash that ``run`` would execute."""

import sys

from ..config.load import load
from ..dispatch.jobs import jobs_of
from ..dispatch.sbatch import render_jobs
from ..errors import SelectionError
from ..options import DryOptions
from ..plan.bash import render
from ..plan.planner import plan_launches
from . import many, setup


def main(options: DryOptions) -> int:
    """Print the script of the whole suite; nothing is started, and no GPU is needed."""
    base = setup.base_folder(options)
    system = setup.read_system_of(options)
    runner = setup.resolve_runner(options, system)
    if not options.runner:
        runner = None  # bash for as many nodes as there may be, without a scheduler
    cluster, made_up = setup.resolve_cluster(options, system, runner)
    suite = load(setup.request(options, system), setup.machine_facts(cluster, system, base))
    site = setup.site(base, runner)
    launches = {b.name: plan_launches(b, cluster, site, options.repeat) for b in suite.benchmarks}
    comments = [
        f"milabench dry {options.config}: benchmarks: {len(suite.benchmarks)}, "
        f"preset {suite.preset}, on {setup.describe(cluster)}{' (made up)' if made_up else ''}",
        *(f"not run: {skip.name}: {skip.reason}" for skip in suite.skipped),
    ]
    if runner is not None and runner.kind == "slurm":
        if not suite.benchmarks:
            raise SelectionError(f"{options.config}: nothing to run; `milabench list` says why")
        runner = many.with_gpus(runner, cluster)
        wanted = jobs_of(suite.benchmarks, len(cluster.nodes), runner.allocation)
        text = render_jobs(runner, wanted, launches, site.python, comments)
    else:
        text = render(
            [each for of_one in launches.values() for each in of_one], site.python, comments
        )
    sys.stdout.write(text)
    return 0
