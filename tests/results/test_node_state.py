"""The facts in which nodes differ, and the clocks that are off, whichever node it is."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from milabench_ddp.codec import write_record
from milabench_ddp.node_settings import SettingValue
from milabench_ddp.results.node_state import (
    NodeState,
    NodeStatus,
    begin_attempt,
    differences,
    problems,
    read_nodes,
)
from milabench_ddp.results.read_state import refuse
from milabench_ddp.results.run_dir import RunDir

SAME = {"the driver": "580.95", "the GPU": "NVIDIA H100", "$NCCL_DEBUG": "WARN"}


def nodes(count: int, **others: dict[str, str | None]) -> list[NodeState]:
    """Nodes with the same facts, except for these of some; None takes a fact away."""
    found = []
    for number in range(1, count + 1):
        name = f"n{number}"
        facts = {**SAME, **others.get(name, {})}
        known = {fact: value for fact, value in facts.items() if value is not None}
        found.append(NodeState(name, NodeStatus.JOINED, facts=known))
    return found


def sentences(found: list[NodeState]) -> list[str]:
    return [each.sentence.removeprefix("nodes differ: ") for each in differences(found)]


def test_equal_nodes_do_not_differ() -> None:
    assert sentences(nodes(4)) == []
    assert sentences([]) == []


@pytest.mark.parametrize("odd", ["n1", "n2", "n4"])
@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"the driver": "570.1"}, "the driver is 570.1 on {0}, and 580.95 on the other 3 nodes"),
        ({"$NCCL_ALGO": "Ring"}, "$NCCL_ALGO is Ring on {0}, and not set on the other 3 nodes"),
        ({"$NCCL_DEBUG": None}, "$NCCL_DEBUG is not set on {0}, and WARN on the other 3 nodes"),
        (
            {"the GPU": None},
            "the GPU is not there on {0}, and NVIDIA H100 on the other 3 nodes",
        ),
    ],
)
def test_a_node_that_differs_is_named_with_both_values(
    odd: str, facts: dict[str, str | None], said: str
) -> None:
    found = nodes(4, **{odd: facts})
    assert sentences(found) == [said.format(odd)]
    (difference,) = differences(found)
    assert (difference.nodes, difference.key) == ((odd,), next(iter(facts)))
    assert set(difference.values) == {"n1", "n2", "n3", "n4"}


def test_without_a_majority_all_are_named() -> None:
    assert sentences(nodes(2, n2={"the driver": "570.1"})) == [
        "the driver is 570.1 on n2, and 580.95 on n1"
    ]
    halves = nodes(4, n3={"the driver": "570.1"}, n4={"the driver": "570.1"})
    assert sentences(halves) == ["the driver is 570.1 on n[3-4], and 580.95 on n[1-2]"]


def test_several_others_and_many_names() -> None:
    found = nodes(5, n1={"the driver": "1"}, n5={"the driver": "2"})
    assert sentences(found) == ["the driver is 1 on n1, 2 on n5, and 580.95 on the other 3 nodes"]


def test_a_node_that_was_not_met_has_no_facts() -> None:
    missing = NodeState("n9", NodeStatus.FAILED, "exit status 1")
    assert sentences([*nodes(2), missing]) == []


@pytest.mark.parametrize(
    ("offset", "error", "said"),
    [
        (11.5, 0.01, ["the clock of n1 is 11.5 s ahead of the coordinator's"]),
        (-2.0, 0.01, ["the clock of n1 is 2.0 s behind the coordinator's"]),
        (0.3, 0.01, []),
        (2.0, 1.8, []),  # the answer took so long that nothing is known
    ],
)
def test_a_clock_that_is_off(offset: float, error: float, said: list[str]) -> None:
    (node,) = nodes(1)
    off = replace(node, clock_offset=offset, clock_error=error)
    assert sentences([off, *nodes(3)[1:]]) == said


def test_problems_are_sentences() -> None:
    states = [
        NodeState("n1", NodeStatus.JOINED),
        NodeState("n1"),
        NodeState("n1", reason="has not answered for 10 s"),
        NodeState("n1", NodeStatus.LOST, "is gone"),
        NodeState("n1", NodeStatus.FAILED, "no GPU"),
    ]
    said = ["", "", "has not answered for 10 s", "is gone", "did not start: no GPU"]
    assert [state.problem for state in states] == said
    assert [each.sentence for each in problems(states)] == [f"n1 {text}" for text in said[2:]]
    assert [state.is_expected for state in states] == [False, True, False, False, False]


def test_the_same_problem_of_many_nodes_is_one_sentence() -> None:
    failed, lost, other = [], [], NodeState("n5", NodeStatus.FAILED, "no GPU", ("a",))
    for number in (10, 2, 9, 1):
        reason = f"the setup command failed: module load cuda (see nodes/n{number}.log)"
        failed.append(NodeState(f"n{number}", NodeStatus.FAILED, reason, (f"log of {number}",)))
        lost.append(NodeState(f"m{number}", NodeStatus.LOST, "is gone, but for m100"))
    found = list(problems([*failed[:2], other, *lost, *failed[2:]]))
    assert [each.sentence for each in found] == [
        "4 nodes (n[1-2,9-10]) did not start: "
        "the setup command failed: module load cuda (see nodes/n10.log)",
        "n5 did not start: no GPU",
        "each of 4 nodes (m[1-2,9-10]) is gone, but for m100",
    ]
    assert found[0].nodes == ("n1", "n2", "n9", "n10")
    assert found[0].first.log == ("log of 10",)


def test_states_are_read_back(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    assert read_nodes(run, refuse) == {}
    state = NodeState("n1", NodeStatus.FAILED, "no GPU", ("a", "b"), SAME, 0.5, 0.1)
    write_record(run.node_json("n1"), state)
    run.node_json("n2").write_text("{")
    damaged = []
    assert read_nodes(run, lambda path, _: damaged.append(path)) == {"n1": state}
    assert damaged == [run.node_json("n2")]
    for name in ("n10", "n2"):
        write_record(run.node_json(name), state)
    assert list(read_nodes(run, refuse)) == ["n1", "n2", "n10"]


MTU = "the MTU of its interfaces"


def told(*mtus: str | None) -> list[NodeState]:
    """Nodes with these MTUs; None: it is not known."""
    found = []
    for number, mtu in enumerate(mtus, 1):
        known = {"governor": (SettingValue("performance", 8),)}
        if mtu is not None:
            known["mtu"] = (SettingValue(mtu),)
        found.append(NodeState(f"n{number}", NodeStatus.JOINED, settings=known))
    return found


@pytest.mark.parametrize("odd", [1, 4])
def test_a_setting_that_differs_is_named_with_both_values(odd: int) -> None:
    mtus = ["1400" if number == odd else "9000" for number in range(1, 5)]
    (difference,) = differences(told(*mtus))
    said = f"nodes differ: {MTU} is 1400 on n{odd}, and 9000 on the other 3 nodes"
    assert difference.sentence == said
    assert (difference.setting, difference.nodes) == ("mtu", (f"n{odd}",))


def test_a_setting_that_a_node_does_not_tell_is_no_difference() -> None:
    assert list(differences(told("9000", None, "9000"))) == []
    assert list(differences(told("9000", "9000"))) == []


def test_settings_that_need_not_be_the_same_do_not_differ() -> None:
    first, second = told("9000", "9000")
    other = {**second.settings, "governor": (SettingValue("powersave", 8),)}
    assert list(differences([first, replace(second, settings=other)])) == []


def test_settings_are_read_back(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    (state,) = told("9000")
    write_record(run.node_json("n1"), state)
    assert read_nodes(run, refuse)["n1"].settings == state.settings


def test_the_lists_of_nodes_of_an_attempt_end_with_it(tmp_path: Path) -> None:
    """An attempt that is cut off leaves no verdict on any node."""
    for name in ("passing_nodes.txt", "node_order.txt"):
        (tmp_path / name).write_text("n1\n")
    begin_attempt(RunDir(tmp_path))
    assert list(tmp_path.iterdir()) == []
