import json
import os
from pathlib import Path
from typing import Any

from milabench_ddp.config.schema import Benchmark
from milabench_ddp.events import Event, Outcome
from milabench_ddp.launch.agent import Agent, Job
from milabench_ddp.launch.node_run import LaunchRunner, SampleRouter
from milabench_ddp.launch.stop_requests import StopRequests
from milabench_ddp.plan.launch import Launch
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.runfile import BenchmarkState, RunState
from milabench_ddp.results.write import DataHeader
from tests.support.launches import launch

RATE = (
    "import json, os; open(os.environ['MILABENCH_METRICS'], 'w')"
    ".write(json.dumps({'task': 'train', 'rate': 1.0}) + chr(10))"
)


class Watcher:
    """Writes down what it is told, and what run.json says at that moment."""

    def __init__(self, path: Path, requests: StopRequests, stop_at: str = "") -> None:
        self.path, self.requests, self.stop_at = path, requests, stop_at
        self.told: list[Any] = []

    def begin(self, benchmark: Benchmark, launch: Launch) -> None:
        state = json.loads((self.path / "run.json").read_text())
        self.told.append(("begin", [b["outcome"] for b in state["benchmarks"]]))

    def see(self, event: Event) -> None:
        if type(event).__name__ == self.stop_at:
            self.requests.stop()

    def end(self, benchmark: Benchmark, outcome: Outcome, reason: str) -> None:
        self.told.append(("end", str(outcome)))


def run(
    folder: Path, requests: StopRequests, texts: list[str], stop_at: str = ""
) -> tuple[Outcome, Watcher]:
    from dataclasses import replace

    jobs = []
    for i, text in enumerate(texts):
        it = launch(text)
        named = replace(it.benchmark, name=f"b{i}")
        process = replace(it.processes[0], tag=(f"b{i}", "D0"))
        jobs.append(Job(named, (replace(it, benchmark=named, processes=(process,)),)))
    names = [BenchmarkState(job.benchmark.name) for job in jobs]
    state = RunState("r", "0", 0.0, [], "small", "x", {}, {}, [], names)
    watcher = Watcher(folder, requests, stop_at)
    header = DataHeader("r", "cpu", {})
    runner = LaunchRunner(RunDir(folder), header, SampleRouter(), os.environ, 1.0)
    agent = Agent(RunDir(folder), state, runner, watcher, requests)
    return agent.run(jobs), watcher


def saved(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "run.json").read_text())


def test_the_file_is_true_at_every_moment(tmp_path: Path, requests: StopRequests):
    outcome, watcher = run(tmp_path, requests, [RATE, "raise SystemExit(3)", RATE])
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


def test_what_was_not_begun_when_it_was_stopped_is_cancelled(
    tmp_path: Path, requests: StopRequests
):
    outcome, watcher = run(
        tmp_path, requests, [RATE + "; import time; time.sleep(60)", RATE], "Data"
    )
    assert outcome is Outcome.CANCELLED
    assert [told for told in watcher.told if told[0] == "end"] == [("end", "cancelled")] * 2
    assert [b["outcome"] for b in saved(tmp_path)["benchmarks"]] == ["cancelled", "cancelled"]
    assert not (tmp_path / "b1.D0.data").exists()
