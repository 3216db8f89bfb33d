"""Measures what the monitor costs: the CPU time of a reading, as a share of a core at one a second.

    python perf/sampler_cost.py [--devices 8] [--readings 200]

The devices are those of the tests' stub of NVML, behind the real pynvml. They tell all that an H100
tells, and have a process each. A reading is all that the monitor does: it reads the devices and the
host, and writes what it read into the files of a process for each device. Prints the median of the
CPU time of a reading in ms, of its parts, and the share of a core that it is.

The calls of a real driver take another time than those of the stub: ``--real`` measures them, on a
machine with GPUs.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from milabench_ddp.launch.node_run import SampleRouter
from milabench_ddp.machine.backends.backend import Reading
from milabench_ddp.machine.backends.nvidia import NvidiaBackend
from milabench_ddp.machine.devices import Device
from milabench_ddp.machine.sampler import INTERVAL, HostReader
from milabench_ddp.results.file_writer import FileWriter
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.write import DataHeader, LaunchWriter
from tests.support import nvml_stub
from tests.support.launches import launch

FIELDS = (82, 3, 4, 142, 143, 144, 145, 197, 198, 138, 139)
TOLD = ("* watts 100:700:300:80:0", "* reasons 4", "* headroom 20", "* generation 5", "* width 16")


@contextmanager
def reader(count: int, *, real: bool) -> Iterator[Callable[[], Reading]]:
    """Reads so many GPUs of the stub, or of this machine."""
    devices = [Device(index, str(index)) for index in range(count)]
    with ExitStack() as stack:
        if not real:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            patch = stack.enter_context(pytest.MonkeyPatch.context())
            nvml_stub.load(nvml_stub.build(folder), patch)
            counts = [f"* f{id} 1" for id in FIELDS]
            statements = f"system gpus {count}", *TOLD, *counts, f"* pids {os.getpid()}"
            patch.setenv("NVML_STUB", "; ".join(statements))
        yield stack.enter_context(NvidiaBackend().source(devices))


def measure(count: int, readings: int, *, real: bool) -> dict[str, list[float]]:
    """The CPU time in ms of the parts of each reading."""
    taken: dict[str, list[float]] = {"devices": [], "host": [], "writing": [], "all": []}
    with ExitStack() as stack:
        read = stack.enter_context(reader(count, real=real))
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        planned, host, router = launch(*["pass"] * count), HostReader(), SampleRouter()
        header = DataHeader("cost", "cuda", {})
        files = stack.enter_context(closing(FileWriter()))
        writer = LaunchWriter(RunDir(folder), planned, header, files)
        router.set_target(planned.processes, writer.write)
        for _ in range(readings):
            marks = [time.process_time()]
            reading = read()
            marks.append(time.process_time())
            reading = replace(reading, host=host())
            marks.append(time.process_time())
            router.route(time.time(), reading)
            marks.append(time.process_time())
            for name, k in {"devices": 0, "host": 1, "writing": 2}.items():
                taken[name].append((marks[k + 1] - marks[k]) * 1e3)
            taken["all"].append((marks[-1] - marks[0]) * 1e3)
    return taken


def main(argv: Sequence[str] | None = None) -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--devices", type=int, default=8)
    parser.add_argument("--readings", type=int, default=200)
    parser.add_argument("--real", action="store_true", help="the GPUs of this machine")
    args = parser.parse_args(argv)
    taken = measure(args.devices, args.readings, real=args.real)
    for name, times in taken.items():
        print(f"{name:8}  {statistics.median(times):6.3f} ms")
    share = statistics.fmean(taken["all"]) / 1e3 / INTERVAL
    print(f"{share:.3%} of a core, at a reading in {INTERVAL:g} s")


if __name__ == "__main__":
    main()
