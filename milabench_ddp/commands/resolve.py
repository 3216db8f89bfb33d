"""``milabench resolve``: print the resolved configuration."""

import sys
from typing import TextIO

from ..config.explain import to_yaml
from ..config.facts import MachineFacts
from ..config.load import SuiteRequest, resolve
from ..config.tree import shown
from ..options import ResolveOptions
from . import setup


def main(options: ResolveOptions) -> int:
    """``milabench resolve CONFIG [--explain]``, on this host."""
    return run(*setup.resolve_request(options), options.explain, sys.stdout)


def run(request: SuiteRequest, facts: MachineFacts, explain: bool, out: TextIO) -> int:
    """Print the selected benchmarks as YAML; with ``explain``, also where each value comes from.

    Returns 0; raises ConfigError and SelectionError.
    """
    resolved = resolve(request, facts)
    chosen = {}
    for name, result in resolved.benchmarks.items():
        if resolved.selection.reason_against(name, result.entry) is None:
            chosen[name] = result.entry
    out.write(f"# {shown(resolved.path)}, preset {resolved.preset}\n")
    out.write(to_yaml(chosen, explain=explain))
    return 0
