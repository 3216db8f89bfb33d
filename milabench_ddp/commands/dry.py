"""``milabench dry``: print the bash that ``run`` would execute."""

import io
import sys
from collections.abc import Iterable, Sequence

from ..config.runner_profile import RunnerProfile
from ..options.suite import LaunchOptions
from ..plan.bash import parts
from ..plan.launch import Launch
from ..plan.planner import in_order, plan_launches
from ..shown_streams import behind
from . import setup
from .repetition import repetition_of

NAME = "dry"  # of the run whose script it prints


def main(options: LaunchOptions) -> int:
    """Print the script of the suite; this starts nothing and needs no GPU."""
    system = setup.read_system_of(options)
    profile = setup.resolve_runner(options, system)
    if not options.runner:
        profile = None  # plain bash for any number of nodes, without a scheduler
    cluster = setup.resolve_cluster(options, system, profile)
    found = setup.loaded(options, system, cluster, profile, without_programs=True)
    suite, site, profile = found
    repetition, run = repetition_of(options, profile), setup.base_folder(options) / "runs" / NAME
    launches = []
    for benchmark in suite.benchmarks:
        launches += plan_launches(benchmark, cluster, site, repetition.most, run)
    launches = in_order(launches, repetition.seed)
    if options.profile == "always":
        from ..results.run_dir import RunDir
        from .traces import traced

        for benchmark in suite.benchmarks:
            traces = RunDir(run).traces
            launches += plan_launches(traced(benchmark), cluster, site, run=traces)
    place = setup.describe(cluster) + (" (made up)" if cluster.is_synthetic else "")
    notes = dict.fromkeys(note for node in cluster.nodes for note in node.notes)
    warnings = [*suite.warnings, *setup.hazards(suite.benchmarks, cluster)]
    comments = [
        f"milabench dry {options.config}: benchmarks: {len(suite.benchmarks)}, "
        f"preset {suite.preset}, on {place}",
        *repetition.notes,
        *(f"note: {note}" for note in notes),
        *(f"warning: {said}" for said in warnings),
        *(f"not run: {skip.name}: {skip.reason}" for skip in suite.skipped),
    ]
    out = behind(sys.stdout)  # each word is shown as it can be: the script's own stay as they are
    if isinstance(out, io.TextIOWrapper):
        # As `run` gives words to programs: paths need not be UTF-8.
        out.reconfigure(encoding=sys.getfilesystemencoding(), errors="surrogateescape")
    out.writelines(_script(profile, launches, len(cluster.nodes), site.python, comments))
    return 0


def _script(
    profile: RunnerProfile | None,
    launches: Sequence[Launch],
    nodes: int,
    python: str,
    comments: Sequence[str],
) -> Iterable[str]:
    if profile is None:
        return parts(launches, python, comments)
    from ..dispatch.runners import runner_of
    from ..dispatch.runners.base import ScriptRequest

    return [runner_of(profile).script(ScriptRequest(profile, launches, nodes, python, comments))]
