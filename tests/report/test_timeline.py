"""The timeline of a run in the Trace Event Format, from made-up records."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from milabench_ddp.errors import MilabenchError
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.finding import Finding
from milabench_ddp.report.timeline import write_timeline
from tests.support.result_files import (
    config,
    end,
    job,
    rate,
    sampled,
    start,
    steps,
    timed_rates,
    write,
)

PARTS = {"forward": [10.0] * 30, "backward": [20.0] * 30, "optimizer": [5.0] * 30}


def ranks(slow: int, part: str, late: float = 4.0, count: int = 3) -> str:
    """Ranks of which one takes longer in a part, so that the others wait for it."""
    text = ""
    for rank in range(count):
        parts = {name: list(ms) for name, ms in PARTS.items()}
        waits = [1.0 if rank == slow else 1.0 + late] * 30
        if rank == slow:
            parts[part] = [ms + late for ms in parts[part]]
        parts["exposed_communication"] = waits
        text += steps(rank, [37.0 + late] * 30, [1.0] * 30, first=5, parts=parts)
    return text


def timeline(folder: Path, *select: str) -> tuple[list[str], list[Any]]:
    path = folder / "timeline.json"
    made = report_of([folder])
    said = write_timeline(made.only(select) if select else made, path)
    whole = json.loads(path.read_text())
    assert whole["displayTimeUnit"] == "ms"
    return said, whole["traceEvents"]


def slices(events: Sequence[Mapping[str, Any]], name: str) -> dict[int, list[tuple[float, float]]]:
    """The beginning and the end of each slice of a name, in us, by track."""
    found = defaultdict(list)
    for event in events:
        if event["ph"] == "X" and event["name"] == name:
            found[event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    return found


@pytest.mark.parametrize("slow", [0, 2])
@pytest.mark.parametrize("part", ["forward", "backward"])
def test_steps_parts_and_waits_of_all_ranks(tmp_path: Path, slow: int, part: str):
    write(tmp_path, "gpt.0", job("gpt", 3), start(), timed_rates([1.0]), ranks(slow, part), end())
    said, events = timeline(tmp_path)
    assert said == [
        "gpt.0: 3 ranks, 30 steps, aligned by the ends of their communication, which agree within "
        "0.000 ms"
    ]
    names = [e["args"]["name"] for e in events if e["name"] == "thread_name"]
    assert names == [f"rank {rank} (+-0.000 ms)" for rank in range(3)]
    waits, works = slices(events, "exposed_communication"), slices(events, part)
    tracks = sorted(waits)
    assert len(tracks) == 3
    for step in range(30):
        ends = [waits[tid][step][1] for tid in tracks]
        assert ends == pytest.approx([ends[0]] * 3, abs=0.002)  # us
    late = tracks[slow]
    other = tracks[1]
    assert waits[late][0][0] - waits[other][0][0] == pytest.approx(4000.0)
    length = {tid: works[tid][0][1] - works[tid][0][0] for tid in tracks}
    assert length[late] - length[other] == pytest.approx(4000.0)


def test_slices_nest(tmp_path: Path):
    """Perfetto drops what crosses another slice of its track."""
    uneven = {name: [ms * (1 + k % 7 / 9) for k, ms in enumerate(of)] for name, of in PARTS.items()}
    uneven["exposed_communication"] = [3.0 + k % 5 for k in range(30)]
    whole = [0.1 + sum(ms) for ms in zip(*uneven.values(), strict=True)]
    text = ""
    for rank in range(2):  # the second one's clock runs 2 % faster
        parts = {name: [ms * (1 - 0.02 * rank) for ms in of] for name, of in uneven.items()}
        own = [ms * (1 - 0.02 * rank) for ms in whole]
        text += steps(rank, own, [0.1 * (1 - 0.02 * rank)] * 30, parts=parts)
    write(tmp_path, "gpt.0", job("gpt"), start(), timed_rates([1.0]), text, end())
    _, events = timeline(tmp_path)
    by_track = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            ends = round(1e3 * (event["ts"] + event["dur"]))
            by_track[event["tid"]].append((round(1e3 * event["ts"]), -ends))
    assert len(by_track) == 2
    for spans in by_track.values():
        stack: list[int] = []
        for begin, end_ in sorted(spans):
            while stack and stack[-1] <= begin:
                stack.pop()
            assert not stack or -end_ <= stack[-1]
            stack.append(-end_)


def test_devices_and_findings(tmp_path: Path):
    samples = [sampled(1000.0 + k, d0={"power": 300.0 + k, "load": 0.5}) for k in range(3)]
    text = (config("one", device=0), start(), timed_rates([1.0] * 40), steps(0, [9.0] * 40))
    write(tmp_path, "one.D0", *text, *samples, end())
    said, events = timeline(tmp_path)
    assert said == ["one.D0: 1 rank, 40 steps"]
    power = [(e["ts"], e["args"]) for e in events if e["name"] == "device 0 Power (W)"]
    assert power == [(1e6 * k, {"Power (W)": 300.0 + k}) for k in range(3)]
    (steps_,) = slices(events, "step").values()
    assert steps_[0] == (0.0, 9000.0)  # from the first rate's time, less what had elapsed
    marks = [event for event in events if event["ph"] == "i"]
    sentences = [found.sentence for found in report_of([tmp_path]).findings if found.benchmark]
    assert [mark["args"]["sentence"] for mark in marks] == sentences


def test_ranks_that_do_not_tell_their_communication(tmp_path: Path):
    text = steps(0, [9.0] * 10) + steps(1, [9.0] * 10)
    write(tmp_path, "toy.0", job("toy"), start(), timed_rates([1.0]), text, end())
    (said,), _ = timeline(tmp_path)
    assert "aligned by the ends of their steps, which agree within 0.000 ms" in said


def test_the_selected_benchmarks_alone(tmp_path: Path):
    for name in ("gpt-ddp", "gpt-fsdp", "toy"):
        text = steps(0, [9.0] * 10)
        write(tmp_path, f"{name}.0", job(name), start(), timed_rates([1.0]), text, end())
    said, _ = timeline(tmp_path, "gpt-ddp", "gpt-fsdp")
    assert [sentence.partition(":")[0] for sentence in said] == ["gpt-ddp.0", "gpt-fsdp.0"]
    with pytest.raises(MilabenchError, match="no benchmark that was asked for has timed its steps"):
        timeline(tmp_path, "bert")


def test_a_file_that_cannot_be_written(tmp_path: Path):
    write(tmp_path, "toy.0", job("toy"), start(), timed_rates([1.0]), steps(0, [9.0]), end())
    with pytest.raises(MilabenchError, match=r"cannot write .*: No such file or directory"):
        write_timeline(report_of([tmp_path]), tmp_path / "none" / "timeline.json")


@pytest.mark.parametrize("bad", [{"time": 1e300, "elapsed": 0.0}, {"time": -1e18, "elapsed": 0.0}])
def test_moments_and_steps_of_any_length(tmp_path: Path, bad: dict[str, float]):
    lines = [rate(1.0, **bad), timed_rates([1.0]), steps(0, [9.0, 1e90]), steps(1, [9.0, 8.0])]
    write(tmp_path, "toy.0", job("toy"), start(), *lines, end())
    _, events = timeline(tmp_path)
    assert [len(of_rank) for of_rank in slices(events, "step").values()] == [2, 2]


class Walked(list[Finding]):
    """Findings that count how often all of them are looked at."""

    times = 0

    def __iter__(self) -> Iterator[Finding]:
        self.times += 1
        return super().__iter__()


def test_findings_are_not_looked_through_for_each_process(tmp_path: Path):
    for k in range(3):
        lines = job(f"gpt{k}", 1), start(), timed_rates([1.0]), ranks(0, "forward", count=1), end()
        write(tmp_path, f"gpt{k}.0", *lines)
    findings = Walked([Finding("it drifts", "gpt1", name="drift")])
    write_timeline(replace(report_of([tmp_path]), findings=findings), tmp_path / "timeline.json")
    events = json.loads((tmp_path / "timeline.json").read_text())["traceEvents"]
    assert [(event["pid"], event["name"]) for event in events if event["ph"] == "i"] == [
        (2, "drift")
    ]
    assert findings.times == 1
