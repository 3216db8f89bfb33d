from milabench_ddp.dispatch.nodes import NodeHandle
from tests.support.dispatch import node


def test_a_node_is_free_while_it_lives_and_runs_nothing() -> None:
    handle = NodeHandle(0, node(0), "10.0.0.1", lambda _: True)
    assert (handle.name, handle.is_free) == ("n0", True)
    handle.benchmark = "one"
    assert not handle.is_free
    handle.benchmark, handle.is_alive = None, False
    assert not handle.is_free
