"""Launches of a validation that hang or fail on this host: what is kept of them, and when."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from milabench_ddp.events import Event, Outcome, Output
from milabench_ddp.launch.evidence_keeper import EvidenceKeeper
from milabench_ddp.launch.node_run import LaunchRunner, SampleRouter
from milabench_ddp.launch.stop_requests import StopRequests
from milabench_ddp.machine import host_evidence, kernel_log
from milabench_ddp.plan.launch import Launch
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.state import LaunchState
from milabench_ddp.results.write import DataHeader
from milabench_ddp.samples import DeviceProblem
from tests.support.archives import archived
from tests.support.launches import launch
from tests.support.node_runs import HEADER, RATE

QUIET = "\n".join(line for line in RATE.splitlines() if not line.startswith("print"))
STUCK = """
import os, time
def stuck():
    print(os.getpid(), flush=True)
    time.sleep(1000)
stuck()
"""


def validated(*scripts: str, tags: tuple[str, ...] = ("validate",)) -> Launch:
    made = launch(*scripts)
    return replace(made, benchmark=replace(made.benchmark, tags=frozenset(tags)))


@pytest.fixture
def run(
    tmp_path: Path, requests: StopRequests, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., LaunchState]:
    """Runs a launch on a host that tells which processes live when it is asked."""
    pids: list[int] = []

    def gather(occasion: str) -> dict[str, str]:
        alive = [pid for pid in pids if Path(f"/proc/{pid}").exists()]
        return {"about.txt": f"{occasion}; alive: {len(alive)}"}

    monkeypatch.setattr(host_evidence, "gather", gather)
    over = [0.0]

    def emit(event: Event) -> None:
        if isinstance(event, Output) and event.stream == "stdout":
            pids.append(int(event.text))
            over[0] = 1e6 * (len(pids) == 1)  # its time is over once it says where it is

    def run(planned: Launch) -> LaunchState:
        runner = LaunchRunner(
            RunDir(tmp_path), HEADER, SampleRouter(), os.environ, 0.1, lambda: over[0],
            keeper=EvidenceKeeper(RunDir(tmp_path), "n1"),
        )  # fmt: skip
        return runner.run(planned, requests, emit)

    return run


def test_a_hang_is_seen_before_it_is_stopped(run: Callable[..., LaunchState], tmp_path: Path):
    assert run(validated(STUCK)).outcome is Outcome.TIMEOUT
    about = "n1, b hangs or waits, and still runs; alive: 1"
    assert archived(tmp_path, "n1") == {"b/about.txt": about}
    assert "line 5 in stuck" in RunDir(tmp_path).stream("b.D0", "stacks").read_text()


@pytest.mark.parametrize("odd", [0, 1])
def test_a_failure_is_kept(run: Callable[..., LaunchState], tmp_path: Path, odd: int) -> None:
    scripts = ["1 / 0" if k == odd else QUIET for k in range(2)]
    assert run(validated(*scripts)).outcome is Outcome.FAILED
    assert archived(tmp_path, "n1") == {"b/about.txt": "n1, b has failed; alive: 0"}


@pytest.mark.parametrize("planned", [validated(QUIET), validated("1 / 0", tags=())])
def test_of_what_goes_well_and_of_other_runs_nothing_is_kept(
    run: Callable[..., LaunchState], tmp_path: Path, planned: Launch
) -> None:
    run(planned)
    assert not (tmp_path / "evidence").exists()


META: dict[str, Any] = {
    "accelerators": {"gpus": {"0": {"uuid": "GPU-0", "pcie": {"bus_id": "00000000:3B:00.0"}}}}
}


@pytest.mark.parametrize(
    ("text", "tags", "is_told"),
    [
        ("1 / 0", (), True),
        (RATE, ("validate",), True),
        (RATE, (), False),  # a good launch of another run does not wait for the log
    ],
)
def test_what_the_kernel_says_is_told_in_the_launch_in_which_it_came(
    tmp_path: Path, requests: StopRequests, monkeypatch: pytest.MonkeyPatch,
    text: str, tags: tuple[str, ...], *, is_told: bool,
) -> None:  # fmt: skip
    header = DataHeader("r", "cuda", META)
    runner = LaunchRunner(RunDir(tmp_path), header, SampleRouter(), os.environ, 1.0)
    now = time.time()
    log = []
    for device, xid, age in ((0, 48, 3600.0), (0, 79, 0.0), (0, 79, 0.0), (1, 94, 0.0)):
        said = f"GPU {device} (GPU-{device}) reported Xid {xid}"
        log.append(DeviceProblem(said, device, f"GPU-{device}", time=now - age, xid=xid))
    monkeypatch.setattr(kernel_log, "reported", lambda _: log)
    known = "GPU 0 (GPU-0) reported Xid 79: it has fallen off the bus; restart the machine"
    fault = f'"sentence": "{known}", "device": 0, "uuid": "GPU-0", "is_fault": true'
    for is_first in (True, False):
        runner.run(validated(text, tags=tags), requests, lambda _: None)
        told = (tmp_path / "b.D0.data").read_text()
        assert told.count("device_problem") == (is_told and is_first)
        assert (fault in told) is (is_told and is_first)
        for path in tmp_path.glob("b.D0.*"):
            path.unlink()
