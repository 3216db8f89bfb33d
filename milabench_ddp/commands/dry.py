"""``milabench dry``: print the bash that ``run`` would execute."""

import io
import sys

from ..config.load import load
from ..dispatch.runners import runner_of
from ..dispatch.runners.base import ScriptRequest
from ..options.run import DryOptions
from ..plan.order import in_order
from ..plan.planner import plan_launches
from ..results.run_dir import RunDir
from . import setup
from .traces import traced

NAME = "dry"  # of the run whose script it prints


def main(options: DryOptions) -> int:
    """Print the script of the suite; this starts nothing and needs no GPU."""
    base, system = setup.base_folder(options), setup.read_system_of(options)
    profile = setup.resolve_runner(options, system)
    if not options.runner:
        profile = None  # plain bash for any number of nodes, without a scheduler
    cluster, is_synthetic = setup.resolve_cluster(options, system, profile)
    runner = runner_of(profile)
    if profile is not None:
        profile = runner.profile(profile, cluster)
    facts = setup.machine_facts(cluster, system, base)
    suite = load(setup.request(options, system), facts, without_programs=True)
    site, run = setup.site(options, profile), base / "runs" / NAME
    repetition = setup.repetition(options, profile)
    launches = []
    for benchmark in suite.benchmarks:
        launches += plan_launches(benchmark, cluster, site, repetition.most, run)
    launches = in_order(launches, repetition.seed)
    if options.profile == "always":
        for benchmark in suite.benchmarks:
            traces = RunDir(run).traces
            launches += plan_launches(traced(benchmark), cluster, site, run=traces)
    place = setup.describe(cluster) + (" (made up)" if is_synthetic else "")
    comments = [
        f"milabench dry {options.config}: benchmarks: {len(suite.benchmarks)}, "
        f"preset {suite.preset}, on {place}"
    ]
    comments += repetition.notes
    notes = dict.fromkeys(note for node in cluster.nodes for note in node.notes)
    comments += [f"note: {note}" for note in notes]
    warnings = [*suite.warnings, *setup.hazards(suite.benchmarks, cluster)]
    comments += [f"warning: {said}" for said in warnings]
    comments += [f"not run: {skip.name}: {skip.reason}" for skip in suite.skipped]
    request = ScriptRequest(profile, launches, len(cluster.nodes), site.python, comments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # As `run` gives words to programs: paths need not be UTF-8.
        sys.stdout.reconfigure(encoding=sys.getfilesystemencoding(), errors="surrogateescape")
    sys.stdout.write(runner.script(request))
    return 0
