import math
from itertools import count, islice, permutations

import pytest
import torch

from benchmarks.common import plant
from benchmarks.common.failure import UnsupportedError
from benchmarks.common.plant import Plants
from tests.support.fake_time import Time

HOST = torch.device("cpu")
HERE = {"MILABENCH_NODE": "node3", "MILABENCH_NODE_RANK": "2", "LOCAL_RANK": "1"}


def plants(text: str, **more: str) -> Plants:
    return Plants({**HERE, "MILABENCH_PLANT": text, **more})


def told(planted: Plants) -> list[str]:
    sent: list[str] = []

    class Emitter:
        def data(self, task: str, planted: dict[str, str]) -> None:
            sent.append(planted["fault"])

    planted.tell(Emitter())  # type: ignore[arg-type]
    return sent


@pytest.mark.parametrize("where", ["", "@node3", "@2", "@node3/1", "@2/1", "@/1"])
def test_a_fault_is_planted_where_its_text_says(where):
    assert plants(f"flip:7{where}").flips(7, 8)
    assert told(plants(f"flip:7{where}")) == [f"flip:7{where}"]


@pytest.mark.parametrize("where", ["@node4", "@3", "@node", "@node3/0", "@2/2", "@/3"])
def test_it_is_nowhere_else(where):
    planted = plants(f"flip:7{where},slow:0.5{where}")
    assert not planted.flips(7, 8)
    assert told(planted) == []
    batches = iter(range(3))
    assert planted.steps(batches, HOST) is batches  # nothing is in the way of what is measured


def test_a_process_alone_on_a_device_is_named_as_visible_devices_are():
    def flips(visible: str) -> bool:
        environ = {"MILABENCH_PLANT": "flip:0@/3", "CUDA_VISIBLE_DEVICES": visible}
        return Plants(environ).flips(0, 8)

    assert (flips("3"), flips("0")) == (True, False)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("melt:3", "'melt' is not one of slow, hang"),
        ("slow:much", "'slow:much' is not slow:NUMBER, where the number is a share of a step"),
        ("flip:-1", "'flip:-1' is not flip:NUMBER, where the number is a step"),
        ("flip:1,hang:soon@3", "'hang:soon@3' is not hang:NUMBER"),
        ("delay_link:5@node1", "is not delay_link:NUMBER@RANK..RANK, where the number is ms"),
    ],
)
def test_what_is_no_fault_is_refused(text, named):
    with pytest.raises(UnsupportedError, match=named.replace("ms", "milliseconds")) as refused:
        plants(text)
    assert str(refused.value).startswith(f"MILABENCH_PLANT={text}: ")


def test_what_is_for_agents_is_left_to_them():
    assert told(plants("env:NCCL_DEBUG=INFO@2,kill:3@node3")) == []


def test_a_bit_flips_in_one_step_of_all_or_in_one_of_each_pass():
    once, always = plants("flip:3"), plants("flip_always:3")
    assert [step for step in range(24) if once.flips(step, 8)] == [3]
    assert [step for step in range(24) if always.flips(step, 8)] == [3, 11, 19]


def after(text: str, number: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """What happens in the steps or calls before a number of them are done."""

    class EndedError(Exception):
        pass

    def ended(what: object) -> None:
        raise EndedError(str(what))

    monkeypatch.setattr("os._exit", lambda code: ended(f"exit {code}"))
    monkeypatch.setattr("time.sleep", lambda _: ended("hangs"))
    said = []
    for heeded in ("steps", "called"):
        planted = plants(text)
        try:
            if heeded == "steps":
                list(islice(planted.steps(count(), HOST), number))
            else:
                call = planted.called(lambda: None, HOST)
                for _ in range(number):
                    call()
        except (EndedError, OSError) as error:
            said.append(str(error))
        else:
            said.append("")
    assert len({*said}) == 1
    return said[0]


@pytest.mark.parametrize("step", [0, 5])
@pytest.mark.parametrize(
    ("kind", "what"), [("hang", "hangs"), ("exit", "exit 1"), ("disk", "[Errno 28] No space left")]
)
def test_it_happens_in_its_step_and_not_before(monkeypatch, kind, what, step):
    assert after(f"{kind}:{step}", step, monkeypatch) == ""
    assert after(f"{kind}:{step}", step + 1, monkeypatch).startswith(what)


def test_the_loss_is_nan_from_a_step_on():
    planted, losses = plants("nan:2"), []
    for _ in islice(planted.steps(count(), HOST), 4):
        losses.append(float(planted.loss(torch.tensor(1.5))))
    assert losses[:2] == [1.5, 1.5]
    assert all(map(math.isnan, losses[2:]))


@pytest.mark.parametrize("share", [0.1, 0.25, 2.0])
@pytest.mark.parametrize("heeded", ["steps", "called"])
def test_a_slow_device_works_longer_in_proportion(monkeypatch, share, heeded):
    """A step takes 40 ms, and a product 3 ms; the first steps tell how long they take."""
    clock = Time()
    monkeypatch.setattr(plant, "clock_of", lambda device: clock)
    monkeypatch.setattr(torch, "mm", lambda *_: clock.sleep(3))
    planted = plants(f"slow:{share}")
    marks = [clock.ns]
    if heeded == "steps":
        for _ in islice(planted.steps(count(), HOST), 101):
            clock.sleep(40)
            marks.append(clock.ns)
    else:
        call = planted.called(lambda: clock.sleep(40), HOST)
        for _ in range(101):
            call()
            marks.append(clock.ns)
    ms = (marks[-1] - marks[5]) / 96 / 1e6
    assert ms == pytest.approx(40 * (1 + share), abs=0.1)


@pytest.mark.parametrize(("link", "is_here"), [("2..4", True), ("4..2", True), ("0..1", False)])
def test_a_link_is_delayed_between_its_two_nodes_alone(monkeypatch, link, is_here):
    """Of nodes of two ranks each; this one is node 2."""
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)
    planted = plants(f"delay_link:5@{link}", LOCAL_WORLD_SIZE="2")
    assert len(told(planted)) == is_here
    delayed = []
    for ranks in permutations(range(10), 2):
        slept.clear()
        planted.over_link(lambda: None, ranks, HOST)()
        if slept:
            assert slept == [0.005]
            delayed.append({rank // 2 for rank in ranks})
    assert len(delayed) == 8
    assert all(nodes == set(map(int, link.split(".."))) for nodes in delayed)
