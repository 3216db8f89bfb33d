"""The live view as lines, on terminals of several sizes."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from milabench_ddp.display.layout import StyledLine, layout
from milabench_ddp.display.run_progress import Outline, RunProgress
from milabench_ddp.events import Data, Outcome, Verdict
from milabench_ddp.progress import LaunchCount
from tests.golden import check_golden
from tests.support.dispatch import Clock
from tests.support.progress import OK, rate, started

SIZES = [(80, 24), (120, 40), (60, 20)]
OF_SUITE = ("flops-bf16", "resnet50", "t5-fsdp", "gpt-ddp", "gpt-fsdp", "gpt-tp", "bert-ddp")
MANY = tuple(f"gpt-strategy=fsdp-size=1.5b-nodes=16-batch={k}" for k in range(300))
Scene = Callable[[], RunProgress]


def sample(tag: str, devices: int, host: int = 0) -> Data:
    found = {}
    for index in range(devices):
        used = 71_000.0 + 500 * index + host
        found[str(index)] = {"load": 0.97 - 0.1 * (index == 5), "memory": [used, 81_559.0]}
    return Data(tag, 0.0, {"gpudata": found})


def begun(outline: Outline) -> tuple[RunProgress, Clock]:
    clock = Clock()
    return RunProgress(outline, clock), clock


def a_node_of_8_gpus() -> RunProgress:
    seconds = dict.fromkeys(OF_SUITE, 60.0)
    known, clock = begun(Outline(OF_SUITE, seconds=seconds))
    warning = "warning  flops-bf16.D1: its rate still falls by 2.8%, from 748.2 to 727.5"
    known.begin("flops-bf16", [], 600.0)
    clock.sleep(62.0)
    known.end("flops-bf16", OK, [f"{warning} (in 1 of 8 processes)"])
    known.end("resnet50", OK)
    reason = "out of memory on rank 3: Tried to allocate 2.00 GiB. GPU 3 has a total capacity"
    known.end("t5-fsdp", Verdict(Outcome.FAILED, reason))
    known.begin("gpt-ddp", [], 600.0)
    known.take(started("gpt-ddp.0"))
    known.take(rate("gpt-ddp.0", 402_000.0, loss=2.31))
    known.take(sample("gpt-ddp.0", 8))
    clock.sleep(41.0)
    return known


def a_cpu_with_repeats() -> RunProgress:
    known, clock = begun(Outline(("flops", "resnet50"), launches=5))
    known.begin("flops", [], 60.0)
    clock.sleep(12.0)
    known.launch_ended("flops", LaunchCount(1, 5, 12.0), pauses=True)
    known.begin("resnet50", [], 60.0)
    known.take(started("resnet50.R0.D0"))
    clock.sleep(3.0)
    return known


def a_sweep_of_300_over_16_nodes() -> RunProgress:
    known, clock = begun(Outline(MANY))
    for name in MANY[:40]:
        known.begin(name, ["node0"], 600.0)
        clock.sleep(10.0)
        is_lost = name.endswith("7")
        known.end(name, Verdict(Outcome.LOST, "node7 lost its connection") if is_lost else OK)
    first = [f"node{rank}" for rank in range(12)]
    for name, nodes in {MANY[40]: first, MANY[41]: ["node12", "node13"]}.items():
        known.begin(name, nodes, 600.0)
        for rank, node in enumerate(nodes):
            known.take(started(f"{name}.0.{node}"))
            known.take(sample(f"{name}.0.{node}", 8, 100 * rank))
        known.take(rate(f"{name}.0.{nodes[0]}", 1_234_567.0, loss=10.5))
    clock.sleep(5.0)
    return known


def nothing_has_begun() -> RunProgress:
    return begun(Outline(OF_SUITE))[0]


def all_has_ended() -> RunProgress:
    known, _ = begun(Outline(("a", "b")))
    known.end("a", OK)
    known.end("b", Verdict(Outcome.TIMEOUT, "it took longer than 60 s"))
    return known


SCENES: list[Scene] = [
    a_node_of_8_gpus,
    a_cpu_with_repeats,
    a_sweep_of_300_over_16_nodes,
    nothing_has_begun,
    all_has_ended,
]


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_view_on_terminals_of_several_sizes(width: int, height: int) -> None:
    parts = []
    for scene in SCENES:
        lines = [line.text for line in layout(scene(), width, height)]
        title = scene.__name__.replace("_", " ")
        parts.append("\n".join([f"--- {title} ".ljust(width, "-"), *lines]))
    check_golden(f"display/view_{width}x{height}.txt", "\n\n".join(parts) + "\n")


@pytest.mark.parametrize("scene", SCENES)
def test_it_fits_whatever_the_size(scene: Scene) -> None:
    known = scene()
    total = f"{len(known.outcomes)} of {len(known.outline.benchmarks)}"
    for width in (*range(20, 130, 7), 300):
        for height in (1, 2, 3, 5, 8, 9, 12, 24, 60):
            lines = layout(known, width, height)
            assert 1 <= len(lines) <= max(1, height - 1)
            assert max(len(line.text) for line in lines) <= width
            assert lines[0].text.startswith(total)
            assert all("\n" not in line.text for line in lines)


def test_what_runs_is_shown_before_what_waits_and_more_than_fits_is_counted() -> None:
    known, _ = begun(Outline(MANY))
    for name in MANY:
        known.begin(name, [], 60.0)
    lines = layout(known, 80, 24)
    assert len(lines) == 23
    assert lines[-1] == StyledLine("and 280 more run", "dim")
    assert sum(line.text.startswith("gpt-") for line in lines) == 20


def test_styles_tell_a_failure_from_a_warning() -> None:
    styles = {line.text[:7]: line.style for line in layout(a_node_of_8_gpus(), 80, 24)}
    assert (styles["failed "], styles["warning"]) == ("red", "yellow")


ODD: list[Any] = [10**400, -(10**400), math.inf, -math.inf, math.nan, True, None, "x", [], [[]], {}]
ODD += [{"0": {"load": each, "memory": [each, each]}} for each in ODD[:6]]
ODD += [{"9" * 5000: {"load": 1}}, {"0": {"memory": 10**400}}]


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_nothing_that_a_program_tells_ends_the_display(odd: object):
    """Of two processes, since the mean of their rates is shown."""
    for key in ("rate", "loss", "units", "warmup", "gpudata", "task"):
        known, _ = begun(Outline(("a",)))
        known.begin("a", (), 60.0)
        for tag in ("a.D0", "a.D1"):
            known.take(Data(tag, 0.0, {"task": "train", "rate": 1.0, key: odd}))
        assert layout(known, 80, 24)
        assert known.end("a", OK)
