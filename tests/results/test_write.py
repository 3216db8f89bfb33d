import json
import os
import re
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.errors import RunDirError
from milabench_ddp.events import Data, Ended, Event, Metrics, Note, Outcome, Output, Started
from milabench_ddp.metric_line import ordinary_lines
from milabench_ddp.plan.planner import plan_launches
from milabench_ddp.results import file_writer
from milabench_ddp.results.file_writer import FileWriter
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.write import DataHeader, LaunchWriter
from tests.support.launches import SITE, benchmark, cluster, njobs

HEADER = DataHeader("mine", "cuda", {"cpu": {"count": 2}})


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def test_a_process_has_its_files_in_milabench_s_format(tmp_path: Path):
    (launch,) = plan_launches(benchmark(record={"url": "x"}), cluster(gpus=1), SITE)
    with closing(FileWriter()) as files:
        writer = LaunchWriter(RunDir(tmp_path), launch, HEADER, files)
        writer.write_header()
        tag, argv = "b.D0", launch.processes[0].argv
        writer.write(Started(tag, 1.0, 7, argv))
        writer.write(Note(tag, 2.0, "phase", {"name": "init"}))
        writer.write(Data(tag, 3.0, {"task": "train", "rate": 2.0}))
        writer.write(Output(tag, 3.0, "stdout", "out\n"))
        writer.write(Output(tag, 3.0, "stderr", "err"))
        writer.write(Ended(tag, 4.0, 1, Outcome.FAILED, "exit status 1"))
        files.flush()
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


def test_after_the_first_node_only_what_failed_keeps_its_output_as_text(tmp_path: Path):
    where = cluster(gpus=1, nodes=5)
    (launch,) = plan_launches(benchmark(plan=njobs(1)), where, SITE)
    first, silent, good, bad, cut_off = launch.processes
    (planted := tmp_path / f"{silent.name}.stdout").write_text("not ours")
    with closing(FileWriter()) as files:
        writer = LaunchWriter(RunDir(tmp_path), launch, HEADER, files)
        writer.write_header()
        for process in (first, good, bad, cut_off):
            writer.write(Output(process.name, 1.0, "stderr", "said\n"))
        for process in (first, silent, good):
            writer.write(Ended(process.name, 2.0, 0, Outcome.OK, ""))
        writer.write(Ended(bad.name, 2.0, 1, Outcome.FAILED, "exit status 1"))
    texts = {path.name for path in tmp_path.iterdir() if path.suffix != ".data"}
    kept = [f"{each.name}.stderr" for each in (first, bad, cut_off)]
    assert texts == {*kept, f"{first.name}.stdout", planted.name}
    assert planted.read_text() == "not ours"
    for process in (first, good, bad, cut_off):
        said = [
            line for line in lines(tmp_path / f"{process.name}.data") if line["event"] == "line"
        ]
        assert said == [{"event": "line", "data": "said\n", "pipe": "stderr"}]


def test_njobs_says_how_many_and_which_devices(tmp_path: Path):
    (launch,) = plan_launches(benchmark(plan=njobs(2)), cluster(gpus=4), SITE)
    with closing(FileWriter()) as files:
        LaunchWriter(RunDir(tmp_path), launch, HEADER, files).write_header()
    config = lines(tmp_path / "b.1.data")[0]["data"]
    assert (config["plan"], config["devices"]) == ({"method": "njobs", "n": 2}, [2, 3])
    assert "device" not in config


def test_a_full_disk_is_an_error_that_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (launch,) = plan_launches(benchmark(), cluster(gpus=1), SITE)
    monkeypatch.setattr(file_writer, "new_file", lambda _: os.open("/dev/full", os.O_WRONLY))
    full = pytest.raises(RunDirError, match=r"cannot write .*b\.D0\.data: No space left on device")
    with full, closing(FileWriter()) as files:
        LaunchWriter(RunDir(tmp_path), launch, HEADER, files).write_header()


def written(tmp_path: Path, *events: Event) -> list[dict[str, Any]]:
    """What these events become in the data file."""
    (launch,) = plan_launches(benchmark(), cluster(gpus=1), SITE)
    with closing(FileWriter()) as files:
        writer = LaunchWriter(RunDir(tmp_path), launch, HEADER, files)
        for event in events:
            writer.write(event)
    return lines(tmp_path / "b.D0.data")


@given(st.text(st.sampled_from('ab"\\\n\t\ré\u2028\x85\x1e ')))
def test_each_line_of_output_is_an_event(text: str):
    with TemporaryDirectory() as folder:
        found = written(Path(folder), Output("b.D0", 0.0, "stderr", text)) if text else []
        assert not text or Path(folder, "b.D0.stderr").read_bytes() == text.encode()
    assert [each["data"] for each in found] == re.findall(r"[^\n]*\n|[^\n]+", text)
    assert all((each["event"], each["pipe"]) == ("line", "stderr") for each in found)


@pytest.mark.parametrize(
    "payloads",
    [
        [{"rate": 1.5, "task": "train"}],
        [{"rate": 1.5}, {"rate": 2.5, "a": {"b": [1]}}],
        [{"loss": 1.0}, {}, {"a": "}{"}],
        [{"rate": 1.5}, {"loss": 1.0}, {"rate": 3}],
    ],
)
def test_ordinary_metric_lines_are_as_each_by_itself(
    tmp_path: Path, payloads: list[dict[str, Any]]
):
    text = "".join(f"{json.dumps(payload)}\n" for payload in payloads).encode()
    together = Metrics("b.D0", 2.25, text, ordinary_lines(text))
    assert len(together.lines) == len(payloads)
    (tmp_path / "alone").mkdir()
    alone = [Data("b.D0", 2.25, payload) for payload in payloads]
    assert written(tmp_path, together) == written(tmp_path / "alone", *alone)
