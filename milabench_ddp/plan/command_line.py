"""Command lines, from the inside out: the program, voir, torchrun, taskset."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from ..config.schema import Benchmark
from ..machine.host import cpu_list

Words = tuple[str, ...]


class Site(Struct, frozen=True):
    """The interpreters and the voir shim on the nodes, and the launcher of a job's ranks."""

    python: str  # of a benchmark whose install group has no virtual environment
    venvs: Mapping[str, str]  # install group -> interpreter of its virtual environment
    voir_shim: Path  # runs a script under voir
    launcher: Literal["torchrun", "tasks"] = "torchrun"  # tasks: one process for each rank
    numa_binding: bool = True  # whether the processes of a GPU are bound to the cores next to it

    def interpreter(self, benchmark: Benchmark) -> str:
        return self.venvs.get(benchmark.install_group, self.python)


def script(benchmark: Benchmark, site: Site) -> Words:
    """The script and its arguments, without an interpreter; under voir, the shim comes first."""
    if benchmark.module:
        return ("-m", benchmark.module, *benchmark.argv)
    words = (str(benchmark.program), *benchmark.argv)
    if benchmark.voir is None:
        return words
    if not benchmark.voir:
        return (str(site.voir_shim), *words)
    return (str(site.voir_shim), "--options", json.dumps(dict(benchmark.voir)), *words)


def is_python(benchmark: Benchmark) -> bool:
    """Whether the program needs a Python interpreter; any other is executed directly."""
    return benchmark.voir is not None or benchmark.program.suffix == ".py"


def plain(benchmark: Benchmark, site: Site) -> Words:
    """The command of one process, unbuffered, so that its output before a crash is not lost."""
    words = script(benchmark, site)
    if not is_python(benchmark):
        return words
    return (site.interpreter(benchmark), "-u", *words)


def torchrun(
    benchmark: Benchmark,
    site: Site,
    ranks: int,
    nodes: int,
    job: str,
    cores: Sequence[Sequence[int]] = (),
) -> Words:
    """The torchrun of ``ranks`` processes on each of ``nodes`` nodes.

    ``cores`` are those of each local rank; without any, a rank may use all of torchrun's.

    On one node torchrun finds a free port itself; the host's own name need not resolve. Several
    nodes get their endpoint in ``PET_RDZV_ENDPOINT``, which torchrun reads in place of the option,
    because a free port of the first node is known only when the launch starts; and their number in
    ``PET_NODE_RANK``, so that all have the same words. Their rendezvous is static: c10d numbers
    nodes by the text of their addresses, node10 before node2, and lets each ask the first one
    every second whether another has come.
    """
    backend = "c10d" if nodes == 1 else "static"
    options = [f"--nnodes={nodes}", f"--nproc-per-node={ranks}", f"--rdzv-backend={backend}"]
    if nodes == 1:
        options += ["--rdzv-endpoint=localhost:0", "--local-addr=localhost"]
    options.append(f"--rdzv-id={job}")
    if cores or not is_python(benchmark):
        options.append("--no-python")
    program = _on_cores(plain(benchmark, site), cores) if cores else script(benchmark, site)
    return (site.interpreter(benchmark), "-m", "torch.distributed.run", *options, *program)


def _on_cores(words: Words, cores: Sequence[Sequence[int]]) -> Words:
    """The same command, bound by each local rank to its own cores.

    torchrun's own ``--numa-binding`` needs torch 2.9, and opens the GPUs in torchrun itself.
    """
    lists = " ".join(map(cpu_list, cores))
    bind = f'cores=({lists}); exec taskset --cpu-list "${{cores[LOCAL_RANK]}}" "$@"'
    return ("bash", "-c", bind, "bind", *words)


def taskset(words: Words, cpus: Sequence[int]) -> Words:
    """The same command, bound to these cores; unchanged if ``cpus`` is empty."""
    return ("taskset", "--cpu-list", cpu_list(cpus), *words) if cpus else words
