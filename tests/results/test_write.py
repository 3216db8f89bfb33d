import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.errors import RunDirError
from milabench_ddp.events import Data, Ended, Line, Note, Outcome, Started
from milabench_ddp.plan.planner import plan_launches
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.write import DataHeader, LaunchWriter
from tests.support.launches import SITE, benchmark, cluster, njobs

HEADER = DataHeader("mine", "cuda", {"cpu": {"count": 2}})


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_process_has_its_files_in_milabench_s_format(tmp_path: Path):
    (launch,) = plan_launches(benchmark(record={"url": "x"}), cluster(gpus=1), SITE)
    with closing(LaunchWriter(RunDir(tmp_path), launch, HEADER)) as writer:
        writer.write_header()
        tag, argv = "b.D0", launch.processes[0].argv
        writer.write(Started(tag, 1.0, 7, argv))
        writer.write(Note(tag, 2.0, "phase", {"name": "init"}))
        writer.write(Data(tag, 3.0, {"task": "train", "rate": 2.0}))
        writer.write(Line(tag, 3.0, "stdout", "out\n"))
        writer.write(Line(tag, 3.0, "stderr", "err"))
        writer.write(Ended(tag, 4.0, 1, Outcome.FAILED, "exit status 1"))
        on_disk_before_the_end = len(lines(tmp_path / "b.D0.data"))
    assert on_disk_before_the_end == 8
    config, meta, start, *rest, end = lines(tmp_path / "b.D0.data")
    assert config["event"] == "config"
    assert config["pipe"] is None
    assert config["data"] == {
        "name": "b", "group": "b", "tag": ["b", "D0"], "plan": {"method": "per_gpu"},
        "device": 0, "devices": [0], "weight": 1.0, "enabled": True, "num_machines": 1,
        "arch": "cuda", "run_name": "mine", "preset": None, "schema": 4, "repeat": None, "url": "x",
    }  # fmt: skip
    assert meta == {"event": "meta", "data": {"cpu": {"count": 2}}, "pipe": None}
    assert (start["data"]["command"], start["data"]["time"]) == (list(argv), 1.0)
    assert start["data"]["env"]["CUDA_VISIBLE_DEVICES"] == "0"
    assert rest == [
        {"event": "phase", "data": {"name": "init"}, "pipe": "data"},
        {"event": "data", "data": {"task": "train", "rate": 2.0, "arrived": 3.0}, "pipe": "data"},
        {"event": "line", "data": "out\n", "pipe": "stdout"},
        {"event": "line", "data": "err", "pipe": "stderr"},
    ]
    assert (end["event"], end["data"]["return_code"], end["data"]["outcome"]) == (
        "end",
        1,
        "failed",
    )
    assert (tmp_path / "b.D0.stdout").read_text() == "out\n"
    assert (tmp_path / "b.D0.stderr").read_text() == "err"


def test_njobs_says_how_many_and_which_devices(tmp_path: Path):
    (launch,) = plan_launches(benchmark(plan=njobs(2)), cluster(gpus=4), SITE)
    with closing(LaunchWriter(RunDir(tmp_path), launch, HEADER)) as writer:
        writer.write_header()
    config = lines(tmp_path / "b.1.data")[0]["data"]
    assert (config["plan"], config["devices"]) == ({"method": "njobs", "n": 2}, [2, 3])
    assert "device" not in config


def test_a_full_disk_is_an_error_that_names_the_file(tmp_path: Path):
    (launch,) = plan_launches(benchmark(), cluster(gpus=1), SITE)
    (tmp_path / "b.D0.data").symlink_to("/dev/full")
    full = pytest.raises(RunDirError, match=r"cannot write .*b\.D0\.data: No space left on device")
    with full, closing(LaunchWriter(RunDir(tmp_path), launch, HEADER)) as writer:
        writer.write_header()
