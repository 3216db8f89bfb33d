"""What torch.compile is said to have done: graphs, breaks, seconds."""

from collections import Counter

import pytest
import torch
from torch import nn

from benchmarks.common.strategies import compiling
from benchmarks.common.strategies.compiling import Compiler

# Dynamo looks at every tensor's gradient, and hides the warning that this is no leaf's; where
# warnings are errors it cannot.
pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor")


@pytest.fixture(autouse=True)
def _afresh():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()
    torch._dynamo.config.optimize_ddp = True


class Straight(nn.Module):
    """One graph."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return torch.relu(self.linear(x))


class Broken(Straight):
    """Two graphs, with what cannot be captured between them."""

    def forward(self, x):
        x = torch.relu(self.linear(x))
        torch._dynamo.graph_break()
        return torch.relu(self.linear(x))


def compiled(backend, *modules):
    compiler = Compiler(backend, "ddp_optimizer")
    compiler.apply(modules)
    x = torch.randn(2, 4)
    for module in modules:
        for _ in range(2):  # the second call compiles nothing
            seen = module(x)
            seen.sum().backward()
            assert torch.equal(seen, module.forward(x))
    return compiler.metrics()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(("kind", "graphs", "breaks"), [(Straight, 1, 0), (Broken, 2, 1)])
def test_graphs_and_breaks_are_counted(backend, kind, graphs, breaks):
    seen = compiled(backend, kind())
    assert (seen["compile"], seen["graphs"], seen["graph_breaks"]) == (backend, graphs, breaks)
    assert seen["compile_s"] > 0


def test_each_compiler_counts_its_own():
    assert compiled("eager", Broken())["graph_breaks"] == 1
    later = compiled("eager", Straight(), Straight())
    assert later["graph_breaks"] == 0
    assert later["graphs"] in (1, 2)  # the second may be served by the first one's code


def test_none_compiles_nothing():
    module = Straight()
    assert compiled("none", module) == {}
    assert module._compiled_call_impl is None


def test_names_of_parameters_stay():
    module = Straight()
    compiled("eager", module)
    assert [name for name, _ in module.named_parameters()] == ["linear.weight", "linear.bias"]


@pytest.mark.parametrize("how", ["ddp_optimizer", "no_optimization"])
def test_dynamo_is_told_what_to_do_at_the_buckets(how):
    Compiler("eager", how).apply([Straight()])
    assert torch._dynamo.config.optimize_ddp == how


@pytest.mark.parametrize(
    ("hits", "misses", "cache"),
    [(0, 0, "cold"), (0, 3, "cold"), (3, 0, "warm"), (1, 2, "partly warm")],
)
def test_what_inductor_found_on_disk_since_it_began(monkeypatch, hits, misses, cache):
    seen = Counter(fxgraph_cache_hit=7, fxgraph_cache_miss=5)  # of the check of the gradients
    monkeypatch.setitem(compiling.counters, "inductor", seen)
    compiler = Compiler("inductor", "ddp_optimizer")
    seen.update(fxgraph_cache_hit=hits, fxgraph_cache_miss=misses)
    assert compiler.metrics()["compile_cache"] == cache
    assert "compile_cache" not in Compiler("eager", "ddp_optimizer").metrics()


@pytest.mark.parametrize(
    ("mode", "graphs", "tuned"),
    [
        ("default", None, None),
        ("reduce-overhead", True, None),
        ("max-autotune", True, True),
        ("max-autotune-no-cudagraphs", None, True),
    ],
)
def test_inductor_gets_the_options_of_the_mode(monkeypatch, mode, graphs, tuned):
    seen = []

    def backend(graph, inputs, *, config_patches=None):
        seen.append(config_patches or {})
        return graph.forward

    monkeypatch.setattr(torch._dynamo, "lookup_backend", lambda name: backend)
    compiler = Compiler("inductor", "ddp_optimizer", mode)
    module = Straight()
    compiler.apply([module])
    module(torch.randn(2, 4))
    (options,) = seen
    assert (options.get("triton.cudagraphs"), options.get("max_autotune")) == (graphs, tuned)
    assert compiler.metrics()["compile_mode"] == mode
