"""``milabench dry``: print the bash that ``run`` would execute."""

import argparse
import sys

from ..config.load import load
from ..plan.bash import render
from ..plan.build import build
from . import setup


def main(options: argparse.Namespace) -> int:
    """Print the script of the whole suite; nothing is started, and no GPU is needed."""
    base = setup.base_folder(options)
    system = setup.system(options)
    cluster, made_up = setup.described(options, system)
    facts = setup.facts(cluster, system, base)
    suite = load(setup.request(options, system), facts)
    site = setup.site(base)
    launches = [
        launch
        for benchmark in suite.benchmarks
        for launch in build(benchmark, cluster, site, options.repeat)
    ]
    comments = [
        f"milabench dry {options.config}: benchmarks: {len(suite.benchmarks)}, "
        f"preset {suite.preset}, on {setup.describe(cluster)}{' (made up)' if made_up else ''}",
        *(f"not run: {skip.name}: {skip.reason}" for skip in suite.skipped),
    ]
    sys.stdout.write(render(launches, site.python, comments))
    return 0
