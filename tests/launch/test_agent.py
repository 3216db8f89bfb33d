import json
import os
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.config.schema import Benchmark
from milabench_ddp.events import Event, Outcome
from milabench_ddp.launch.agent import Agent, Job
from milabench_ddp.launch.inbox import Inbox
from milabench_ddp.launch.runner import Runner, Samples
from milabench_ddp.plan.command import Launch
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.runfile import BenchmarkState, RunState
from milabench_ddp.results.write import Heading
from milabench_ddp.samples import Sample
from tests.support.launches import launch

RATE = (
    "import json, os; open(os.environ['MILABENCH_METRICS'], 'w')"
    ".write(json.dumps({'task': 'train', 'rate': 1.0}) + chr(10))"
)


class Watcher:
    """Writes down what it is told, and what run.json says at that moment."""

    def __init__(self, path: Path, inbox: Inbox, stop_at: str = "") -> None:
        self.path, self.inbox, self.stop_at = path, inbox, stop_at
        self.told: list[Any] = []

    def begin(self, benchmark: Benchmark, launch: Launch) -> None:
        state = json.loads((self.path / "run.json").read_text())
        self.told.append(("begin", [b["outcome"] for b in state["benchmarks"]]))

    def see(self, event: Event) -> None:
        if type(event).__name__ == self.stop_at:
            self.inbox.stop()

    def tick(self) -> None:
        pass

    def end(self, benchmark: Benchmark, outcome: Outcome, reason: str) -> None:
        self.told.append(("end", str(outcome)))


@pytest.fixture
def inbox():
    it = Inbox()
    yield it
    it.close()


def run(folder: Path, inbox: Inbox, texts: list[str], stop_at: str = "") -> tuple[Outcome, Watcher]:
    from dataclasses import replace

    jobs = []
    for i, text in enumerate(texts):
        it = launch(text)
        named = replace(it.benchmark, name=f"b{i}")
        process = replace(it.processes[0], tag=(f"b{i}", "D0"))
        jobs.append(Job(named, (replace(it, benchmark=named, processes=(process,)),)))
    names = [BenchmarkState(job.benchmark.name) for job in jobs]
    state = RunState("r", "0", 0.0, [], "small", "x", {}, {}, [], names)
    watcher = Watcher(folder, inbox, stop_at)
    heading = Heading("r", "cpu", {})
    runner = Runner(RunDir(folder), heading, Samples(), os.environ, 1.0)
    agent = Agent(RunDir(folder), state, runner, watcher, inbox)
    return agent.run(jobs), watcher


def saved(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "run.json").read_text())


def test_the_file_is_true_at_every_moment(tmp_path: Path, inbox: Inbox):
    outcome, watcher = run(tmp_path, inbox, [RATE, "raise SystemExit(3)", RATE])
    assert outcome is Outcome.FAILED
    assert watcher.told == [
        ("begin", ["running", "waiting", "waiting"]),
        ("end", "ok"),
        ("begin", ["ok", "running", "waiting"]),
        ("end", "failed"),
        ("begin", ["ok", "failed", "running"]),
        ("end", "ok"),
    ]
    state = saved(tmp_path)
    assert [b["reason"] for b in state["benchmarks"]] == ["", "exit status 3", ""]
    assert state["outcome"] == "failed"
    assert state["ended"] >= state["benchmarks"][2]["ended"]


def test_what_was_not_begun_when_it_was_stopped_is_cancelled(tmp_path: Path, inbox: Inbox):
    outcome, watcher = run(tmp_path, inbox, [RATE + "; import time; time.sleep(60)", RATE], "Data")
    assert outcome is Outcome.CANCELLED
    assert [told for told in watcher.told if told[0] == "end"] == [("end", "cancelled")] * 2
    assert [b["outcome"] for b in saved(tmp_path)["benchmarks"]] == ["cancelled", "cancelled"]
    assert not (tmp_path / "b1.D0.data").exists()


def test_samples_go_to_the_process_whose_device_it_is(inbox: Inbox):
    samples = Samples()
    samples(1.0, {0: Sample(load=0.5)})  # nobody is running yet
    samples.watch(launch("pass", "pass").processes, inbox.put)
    samples(2.0, {0: Sample(load=0.25), 1: Sample(load=0.75), 7: Sample(load=1.0)})
    samples.problem("GPU 1 is lost")
    events = list(inbox.take())
    loads = {e.tag: e.payload["gpudata"] for e in events if hasattr(e, "payload")}
    assert loads == {"b.D0": {"0": {"load": 0.25}}, "b.D1": {"1": {"load": 0.75}}}
    assert [(e.tag, e.data) for e in events if hasattr(e, "kind")] == [
        ("b.D0", "GPU 1 is lost"),
        ("b.D1", "GPU 1 is lost"),
    ]
