import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.errors import PlanError
from milabench_ddp.plan.planner import plan_launches, scaled
from tests.support.launches import SITE, benchmark, cluster

sizes = st.integers(1, 10_000)


@given(sizes, st.integers(1, 64))
def test_weak_scaling_keeps_the_batch_of_a_replica(size: int, nodes: int) -> None:
    weak = benchmark(argv=("--batch-size", str(size)))
    assert scaled(weak, nodes) == weak


@given(sizes, st.integers(1, 64))
def test_strong_scaling_keeps_the_global_batch(share: int, nodes: int) -> None:
    argv = ("--lr", "1", "--batch-size", str(share * nodes), "--amp")
    strong = benchmark(argv=argv, scaling="strong")
    found = scaled(strong, nodes)
    assert found.argv == ("--lr", "1", "--batch-size", str(share), "--amp")
    assert int(found.argv[3]) * nodes == share * nodes


@given(sizes, st.integers(2, 64))
def test_what_does_not_divide_is_refused(size: int, nodes: int) -> None:
    strong = benchmark(argv=("--batch-size", str(size)), scaling="strong")
    if size % nodes:
        with pytest.raises(PlanError) as caught:
            scaled(strong, nodes)
        assert str(caught.value) == (
            f"b: `scaling: strong` divides --batch-size {size} by {nodes} nodes, and {nodes} does "
            f"not divide it: choose a multiple"
        )


@pytest.mark.parametrize("argv", [(), ("--batch-size",), ("--batch-size", "auto"), ("32",)])
def test_no_batch_size_to_divide(argv: tuple[str, ...]) -> None:
    strong = benchmark(argv=argv, scaling="strong")
    assert scaled(strong, 1) == strong
    with pytest.raises(PlanError, match="its argv has none: add it, or use `scaling: weak`"):
        scaled(strong, 2)


def test_the_processes_of_each_node_have_their_share() -> None:
    strong = benchmark(argv=("--batch-size", "32"), scaling="strong")
    (launch,) = plan_launches(strong, cluster(gpus=1, nodes=4), SITE)
    assert [process.argv[-2:] for process in launch.processes] == [("--batch-size", "8")] * 4
