"""Runs of small programs on the GPUs of the stub of NVML, with the monitor, and their reports."""

import os
from pathlib import Path

from milabench_ddp.dispatch.runners.attached import HostRunner
from milabench_ddp.machine.detect import detect
from milabench_ddp.machine.provenance import collect
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.model import Report
from tests.support.progress import RecordedProgress
from tests.support.run_contexts import context, program
from tests.support.workplace import EMIT, GOOD

# `wait_for` returns once the monitor has written something into the files of the benchmark.
WAITS = f"""{GOOD}
from pathlib import Path
run, name = Path(os.environ["MILABENCH_TRACES"]).parent, Path(sys.argv[0]).stem

def wait_for(text, files):
    while not files(text in file.read_text() for file in run.glob(name + ".*.data")):
        time.sleep(0.02)
"""
SAMPLED = f"{WAITS}\nwait_for('gpudata', all)"
# Makes 20 steps, with two samples of its device in each, and after ten the file `changed.DEVICE`.
STEPS = f"""{EMIT}
from pathlib import Path
run, name = Path(os.environ["MILABENCH_TRACES"]).parent, Path(sys.argv[0]).stem
device = os.environ["CUDA_VISIBLE_DEVICES"]
own = run / f"{{name}}.D{{device}}.data"
begun = time.time()
for step in range(20):
    if step == 10:
        (run / f"changed.{{device}}").touch()
    wanted = own.read_text().count("gpudata") + 2
    while own.read_text().count("gpudata") < wanted:
        time.sleep(0.01)
    now = time.time()
    rate(100.0, time=now, elapsed=now - begun, step=step, steps=1)
"""


def report_on(
    folder: Path, gpu_poll: float = 0.02, tags: frozenset[str] = frozenset(), **programs: str
) -> Report:
    """The report of a run of these programs on the GPUs of the stub."""
    cluster = detect("cuda", None, os.environ)
    more = {"tags": tags, "record": {"tags": sorted(tags)}}
    benchmarks = [program(folder, name, text, **more) for name, text in programs.items()]
    run = context(folder, *benchmarks, arch="cuda", gpus=None, gpu_poll=gpu_poll)
    run.header.machine = collect("cuda", cluster.nodes[0], [], {})
    HostRunner().execute((run, RecordedProgress()))
    return report_of([folder])


def about(report: Report, name: str) -> list[str]:
    return [finding.sentence for finding in report.findings if finding.name == name]
