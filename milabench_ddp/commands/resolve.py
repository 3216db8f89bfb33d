"""``milabench resolve``: the configuration with nothing left to look up."""

import sys
from typing import TextIO

from ..config.explain import to_yaml
from ..config.facts import MachineFacts
from ..config.load import SuiteRequest, resolve
from ..config.paths import shown
from ..options import ResolveOptions
from . import setup


def main(options: ResolveOptions) -> int:
    """``milabench resolve CONFIG [--explain]``, on this host."""
    return run(*setup.resolve_request(options), options.explain, sys.stdout)


def run(request: SuiteRequest, facts: MachineFacts, explain: bool, out: TextIO) -> int:
    """Print the benchmarks that are selected as YAML; with ``explain``, where each value is from.

    Returns 0; raises ConfigError and SelectionError.
    """
    resolved = resolve(request, facts)
    chosen = {
        name: applied.table
        for name, applied in resolved.benchmarks.items()
        if resolved.selection.selects(name, applied.table)
        and not resolved.selection.excludes(name, applied.table)
    }
    out.write(f"# {shown(resolved.path)}, preset {resolved.preset}\n")
    out.write(to_yaml(chosen, explain=explain))
    return 0
