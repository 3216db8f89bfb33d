from pathlib import Path

import pytest

from milabench_ddp.config.schema import SkippedBenchmark
from milabench_ddp.report.run_info import RunInfo, run_info
from milabench_ddp.results.read_run import read_run
from tests.support.result_files import config, end, line, rates, start, write, write_state

GPUS = {"0": {"product": "H100"}, "1": {"product": "H100"}, "2": {}}
META = {
    "cpu": {"count": 64, "brand": "EPYC"},
    "os": {"nodename": "host1"},
    "accelerators": {"arch": "cuda", "gpus": GPUS},
    "pytorch": {"torch": "2.11.0"},
    "milabench": {"tag": "v1.2"},
}


def described(run: Path, *lines: str, name: str = "b", **settings: object) -> RunInfo:
    write(run, f"{name}.D0", config(name, **settings), *lines)
    return run_info(read_run(run))


def test_where_and_on_what_it_was_measured(tmp_path: Path) -> None:
    info = described(tmp_path, line("meta", META), start(100.0), rates([1.0]), end(0, 160.0))
    assert (info.host, info.cpu, info.arch) == ("host1", "64 x EPYC", "cuda")
    assert info.devices == "2 x H100, 1 x unnamed device"
    assert info.version == "torch 2.11.0, milabench v1.2"
    assert (info.started, info.seconds) == (100.0, 60.0)


def test_what_stood_below_the_software_is_told(tmp_path: Path) -> None:
    image = {"kind": "apptainer", "image": "/i/torch.sif", "digest": f"sha256:{'0af' * 9}"}
    write_state(tmp_path, "ok", {"b": "ok"}, machine={"container": image})
    meta = {**META, "modules": "cuda/12.9:gcc/12"}
    info = described(tmp_path, line("meta", meta), start(100.0), rates([1.0]), end(0, 160.0))
    told = "image torch.sif sha256:0af0af0af0af, modules cuda/12.9 gcc/12"
    assert info.version == f"torch 2.11.0, milabench v1.2, {told}"


def test_what_the_files_do_not_say_is_left_empty(tmp_path: Path) -> None:
    info = described(tmp_path, rates([1.0]))
    assert (info.host, info.cpu, info.devices, info.version) == ("", "", "", "")
    assert (info.started, info.seconds, info.outcome) == (None, None, "")


def test_an_architecture_without_gpus_says_so(tmp_path: Path) -> None:
    assert described(tmp_path, arch="cpu").devices == "no GPU"
    assert described(tmp_path, arch="cuda").devices == ""


def test_a_run_spans_all_its_processes_and_its_state(tmp_path: Path) -> None:
    write(tmp_path, "a.D0", config("a"), start(990.0), rates([1.0]), end(0, 1010.0))
    write(tmp_path, "b.D0", config("b"), start(1020.0), rates([1.0]), end(0, 1300.0))
    assert run_info(read_run(tmp_path)).seconds == 310.0
    write_state(tmp_path, "ok", {"a": "ok", "b": "ok"}, created=950.0)
    info = run_info(read_run(tmp_path))  # by the clock of its command: nodes may have others
    assert (info.started, info.seconds, info.outcome, info.preset) == (950.0, 250.0, "ok", "full")


@pytest.mark.parametrize("time", [float("nan"), -1.0, 1e12, "yesterday", None])
def test_times_that_no_calendar_has_do_not_count(tmp_path: Path, time: object) -> None:
    info = described(tmp_path, start(time), rates([1.0]), end(0, 160.0))  # type: ignore[arg-type]
    assert (info.started, info.seconds) == (None, None)


def test_what_was_skipped_is_told_with_its_reason(tmp_path: Path) -> None:
    skipped = [SkippedBenchmark("c", "it needs 8 GPUs")]
    write_state(tmp_path, "ok", {"a": "ok"}, skipped=skipped)
    assert run_info(read_run(tmp_path)).skipped == tuple(skipped)
