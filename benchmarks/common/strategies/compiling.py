"""torch.compile, with a count of its graphs, graph breaks and seconds."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn
from torch._dynamo.utils import calculate_time_spent, counters

BACKENDS = ("none", "eager", "aot_eager", "inductor")
MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")  # inductor's
GRAPHS = ("reduce-overhead", "max-autotune")  # those that replay CUDA graphs
# How Dynamo treats DDP: cut the graph at the buckets, so that their all-reduces overlap with the
# backward pass (with breaks), or do not cut it (without).
OPTIMIZE_DDP = ("ddp_optimizer", "no_optimization")


class Compiler:
    """Compiles modules with one backend, and counts graphs, breaks and seconds."""

    def __init__(self, backend: str, optimize_ddp: str, mode: str = "default") -> None:
        """Compile with a backend of ``BACKENDS``; with ``none`` nothing is compiled.

        ``mode`` is one of ``MODES``, and another than ``default`` is for inductor alone.
        """
        self._backend, self._mode = backend, mode
        self._optimize_ddp = optimize_ddp
        self._graphs = 0
        self._seconds, self._breaks = _spent(), _breaks()
        self._cached = _cached()

    @property
    def compiles(self) -> bool:
        return self._backend != "none"

    def apply(self, modules: Iterable[nn.Module]) -> None:
        """Compile the modules in place, at their first call: their parameters keep their names."""
        if not self.compiles:
            return
        torch._dynamo.config.optimize_ddp = self._optimize_ddp
        for module in modules:
            module.compile(backend=self._counted)

    def metrics(self) -> dict[str, Any]:
        """Graphs given to the backend (one for each bucket with breaks), breaks, seconds.

        For inductor also whether its cache on disk was ``cold``, ``warm`` or ``partly warm``.
        """
        if not self.compiles:
            return {}
        found = {
            "compile": self._backend,
            "graphs": self._graphs,
            "graph_breaks": _breaks() - self._breaks,
            "compile_s": round(_spent() - self._seconds, 3),
        }
        if self._backend == "inductor":
            found["compile_mode"], found["compile_cache"] = self._mode, self._cache()
        return found

    def _cache(self) -> str:
        hits, misses = (now - before for now, before in zip(_cached(), self._cached, strict=True))
        if not hits:
            return "cold"
        return "partly warm" if misses else "warm"

    def _counted(self, graph: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Any:
        self._graphs += 1
        compiled = torch._dynamo.lookup_backend(self._backend)
        if self._mode == "default":
            return compiled(graph, inputs)
        return compiled(graph, inputs, config_patches=torch._inductor.list_mode_options(self._mode))


def forget() -> None:
    """Drop all compiled code, and CUDA graphs with their memory."""
    torch._dynamo.reset()
    if torch.cuda.is_available():
        from torch._inductor import cudagraph_trees

        cudagraph_trees.reset_cudagraph_trees()


def _spent() -> float:
    return calculate_time_spent()["total_wall_time"]


def _breaks() -> int:
    return sum(counters["graph_break"].values())


def _cached() -> tuple[int, int]:
    seen = counters["inductor"]
    return seen["fxgraph_cache_hit"], seen["fxgraph_cache_miss"]
