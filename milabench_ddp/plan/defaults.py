"""Variables that each launch has unless the caller sets them: what compilers keep, how hangs end.

A collective that waits for a rank which does not come fails after a time-out, and its message and
the flight recorder of NCCL say which: before ``max_duration``, after which nothing can be learnt.

    until the first steps are done  max_duration / 2   one rank may compile while the others wait
    from then on                    max_duration / 6, at least 60 s, at most as before

The names of the flight recorder's variables are those that torch has had since 2.2.
"""

from collections.abc import Sequence
from pathlib import Path

from ..config.schema import Benchmark
from ..machine.backends import BACKENDS
from ..machine.devices import Node

MAX_DURATION = "MILABENCH_MAX_DURATION"  # seconds; the programs measure less, rather than too long
# The programs read these two: seconds that a collective may take.
SETUP_TIMEOUT, STEP_TIMEOUT = "MILABENCH_SETUP_TIMEOUT", "MILABENCH_STEP_TIMEOUT"
LEAST_STEP_TIMEOUT = 60.0  # seconds: a file system or a busy host may stall a step for long
MOST_THREADS = 32  # of inductor, by itself
ENTRIES = 2000  # collectives that the flight recorder remembers


def defaults(
    benchmark: Benchmark, arch: str, nodes: Sequence[Node], run: Path | None
) -> dict[str, str]:
    """The variables of a launch of ``benchmark`` on ``nodes``; ``run`` is the run folder, if any.

    Caches are in the folder of the benchmark: its first launch compiles everything, a repeat and
    ``--resume`` find what an earlier launch compiled.
    """
    cores = min(node.cpu_count // len(node.devices) for node in nodes)
    found = {
        MAX_DURATION: f"{benchmark.max_duration:g}",
        "TORCHINDUCTOR_COMPILE_THREADS": str(min(max(cores, 1), MOST_THREADS)),
    }
    folder = None if run is None else run / benchmark.name
    if folder is not None:
        found["TORCHINDUCTOR_CACHE_DIR"] = str(folder / "cache" / "inductor")
        found["TRITON_CACHE_DIR"] = str(folder / "cache" / "triton")
    if benchmark.plan.jobs:
        found |= _of_jobs(benchmark.max_duration, BACKENDS[arch].collectives, folder)
    return found


def _of_jobs(max_duration: float, collectives: str, folder: Path | None) -> dict[str, str]:
    setup = max_duration / 2
    step = min(setup, max(max_duration / 6, LEAST_STEP_TIMEOUT))
    found = {SETUP_TIMEOUT: f"{setup:g}", STEP_TIMEOUT: f"{step:g}"}
    if collectives in ("nccl", "rccl"):
        found["TORCH_NCCL_TRACE_BUFFER_SIZE"] = str(ENTRIES)
        found["TORCH_NCCL_DUMP_ON_TIMEOUT"] = "1"
        if folder is not None:  # each rank appends its number
            found["TORCH_NCCL_DEBUG_INFO_TEMP_FILE"] = str(folder / "flight_recorder.rank")
    return found
