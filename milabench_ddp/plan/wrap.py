"""Command lines, from the inside out: the program, voir, torchrun, taskset."""

import json
from collections.abc import Sequence

from ..config.schema import Benchmark
from .site import Site

Words = tuple[str, ...]


def script(benchmark: Benchmark, site: Site) -> Words:
    """The script and its arguments, without an interpreter; under voir, the shim comes first."""
    words = (str(benchmark.program), *benchmark.argv)
    if benchmark.voir is None:
        return words
    options = ("--options", json.dumps(dict(benchmark.voir))) if benchmark.voir else ()
    return (str(site.voir_shim), *options, *words)


def is_python(benchmark: Benchmark) -> bool:
    """Whether the script needs an interpreter; any other program is executed as it is."""
    return benchmark.voir is not None or benchmark.program.suffix == ".py"


def plain(benchmark: Benchmark, site: Site) -> Words:
    """One process on one device; unbuffered, so that its last words are not lost with it."""
    words = script(benchmark, site)
    return (site.interpreter(benchmark), "-u", *words) if is_python(benchmark) else words


def torchrun(benchmark: Benchmark, site: Site, ranks: int, nodes: int, job: str) -> Words:
    """``ranks`` processes on each of ``nodes`` nodes, behind a c10d rendezvous.

    On one node torchrun finds a free port itself; the host's own name need not resolve. Several
    nodes get their one endpoint as ``PET_RDZV_ENDPOINT``, which torchrun reads in place of the
    option, because only whoever starts them knows a free port of the first node.
    """
    options = [f"--nnodes={nodes}", f"--nproc-per-node={ranks}", "--rdzv-backend=c10d"]
    if nodes == 1:
        options += ["--rdzv-endpoint=localhost:0", "--local-addr=localhost"]
    options.append(f"--rdzv-id={job}")
    if not is_python(benchmark):
        options.append("--no-python")
    run = (site.interpreter(benchmark), "-m", "torch.distributed.run", *options)
    return (*run, *script(benchmark, site))


def taskset(words: Words, cpus: Sequence[int]) -> Words:
    """The same command on these cores only; no cores, no binding."""
    return ("taskset", "--cpu-list", ",".join(map(str, cpus)), *words) if cpus else words
