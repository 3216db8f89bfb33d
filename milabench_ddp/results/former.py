"""How long the launches of benchmarks took in former runs, to say beforehand how long a run takes.

A former run counts for a benchmark that it ran with the same configuration, on the same kind of
machine. Only the folder of the runs is looked at, and of it only the newest runs.
"""

from collections.abc import Mapping
from contextlib import suppress

from ..errors import RunDirError
from .read_state import read_benchmark, read_header
from .records import mapping_or_empty
from .run_dir import RunDir
from .state import RunHeader

NEWEST = 20  # former runs to look at


def former_runs(run: RunDir, header: RunHeader, *, with_own: bool = False) -> Mapping[str, float]:
    """The mean seconds of a launch of each benchmark in the newest run that had it.

    Args:
        with_own: whether what has ended in the run itself counts, too, and first.
    """
    seconds: dict[str, float] = {}
    ages = {}
    for path in run.path.parent.glob("*/run.json"):
        with suppress(OSError):  # it was removed meanwhile
            ages[path.parent] = path.stat().st_mtime
    ages.pop(run.path, None)
    newest = sorted(ages, key=lambda path: -ages[path])[:NEWEST]
    for path in [run.path] * with_own + newest:
        missing = [name for name in header.suite if name not in seconds]
        seconds |= _seconds(RunDir(path), header, missing)
        if len(seconds) == len(header.suite):
            break
    return seconds


def _seconds(former: RunDir, header: RunHeader, names: list[str]) -> dict[str, float]:
    try:
        theirs = read_header(former)
    except RunDirError:
        return {}
    if _kind(theirs.machine) != _kind(header.machine):
        return {}
    found = {}
    for name in names:
        if theirs.suite.get(name) != header.suite[name]:
            continue
        state = read_benchmark(former, name)
        if state is not None and state.launch_seconds:
            found[name] = state.launch_seconds
    return found


def _kind(machine: Mapping[str, object]) -> tuple[object, ...]:
    accelerators = mapping_or_empty(machine.get("accelerators"))
    gpus = mapping_or_empty(accelerators.get("gpus")).values()
    products = sorted(str(mapping_or_empty(gpu).get("product")) for gpu in gpus)
    cpu = mapping_or_empty(mapping_or_empty(machine.get("host")).get("cpu"))
    return accelerators.get("arch"), products, cpu.get("brand")
