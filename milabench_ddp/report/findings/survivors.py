"""Findings about processes that a benchmark left behind, and that nothing could end."""

from ...errors import shown_names
from ..finding import Finding, Findings
from .finder import Measurements


def survivors(measured: Measurements) -> Findings:
    """Processes that SIGKILL did not end: of a benchmark, and of earlier ones beside it."""
    for run in measured.runs:
        for name, state in run.state.benchmarks.items() if run.state else ():
            found = {each for launch in state.launches for each in launch.survivors}
            for whose in sorted({each.benchmark for each in found}):
                pids = sorted(each.pid for each in found if each.benchmark == whose)
                count = f"{len(pids)} processes" if len(pids) > 1 else "1 process"
                beside = "what follows" if whose == name else "it"
                verb = "run" if len(pids) > 1 else "runs"
                shown = shown_names([str(pid) for pid in pids])
                sentence = f"{count} of {whose} {verb} beside {beside}: SIGKILL did not end {shown}"
                yield Finding(f"{name}: {sentence}", name, evidence={"of": whose, "pids": pids})
