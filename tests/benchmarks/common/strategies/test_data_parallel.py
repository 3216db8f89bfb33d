import pytest

from benchmarks.common import strategies
from benchmarks.common.group import Group
from benchmarks.common.strategies.data_parallel import static_graph
from benchmarks.common.strategies.setup import Setup
from tests.support.strategies import batch, options, workload


@pytest.fixture
def build():
    """Makes DDP in a process group of this process alone."""
    group = Group.join("cpu")

    def make(argv):
        args = options(f"--mode ddp {argv}")
        return strategies.build(args, workload(args), group)

    return make


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ("", True),
        ("--no-static-graph", False),
        ("--find-unused-parameters", False),
        ("--find-unused-parameters --static-graph", True),
        ("--compile eager", False),
        ("--accumulate 2", False),
    ],
)
def test_the_graph_is_static_where_ddp_can(argv, expected):
    args = options(f"--mode ddp {argv}")
    assert static_graph(Setup(args, None, None, None, 0.0)) is expected


def test_gradients_go_in_as_many_buckets_as_their_size_asks_for(build):
    buckets = {}
    for size in (25, 0.02):
        strategy = build(f"--bucket-cap-mb {size}")
        for step in range(5):  # buckets are laid out again after the first steps
            strategy.forward_backward(batch(step, 0))
            strategy.step()
        buckets[size] = strategy.metrics()["buckets"]
    # 171 kB of gradients, in buckets that are closed as soon as they hold 0.02 MiB = 21 kB or more.
    assert buckets == {25: 1, 0.02: 7}


def test_without_the_last_part_nothing_is_averaged(build):
    strategy = build("--no-static-graph")
    assert strategy.model.require_backward_grad_sync
    with strategy.unsynced():
        assert not strategy.model.require_backward_grad_sync
    assert strategy.model.require_backward_grad_sync


@pytest.mark.parametrize("hook", ["allreduce", "fp16", "bf16"])
def test_each_hook_reduces_the_gradients(build, hook):
    plain, hooked = build(""), build(f"--comm-hook {hook}")
    for strategy in (plain, hooked):
        strategy.forward_backward(batch(0, 0))
    gradients = [[p.grad for p in s.model.parameters()] for s in (plain, hooked)]
    differences = [float((a - b).abs().max()) for a, b in zip(*gradients, strict=True)]
    assert max(differences) < 1e-2
    assert (max(differences) > 0) == (hook != "allreduce")  # 16 bits round
