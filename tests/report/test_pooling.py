"""Runs that may be pooled, and runs that differ in one thing each."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.cli import main
from milabench_ddp.errors import PoolingError
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.pooling import differences_of
from milabench_ddp.results.read_run import read_run
from tests.support.calls import grown_faster
from tests.support.described_runs import GPU, META, Change, Facts, changed, measured, to
from tests.support.result_files import config, end, line, rates, start, write, write_state

SLOWER_GPU = {"0": {**GPU, "product": "NVIDIA A100"}, "1": {**GPU, "product": "NVIDIA A100"}}
DIFFERENT: Sequence[tuple[Change, str, str, str]] = [
    (to("meta.pytorch.torch", "2.16.0+cu132"), "torch", "2.15.0+cu132", "2.16.0+cu132"),
    (to("meta.pytorch.cuda", "12.8"), "CUDA", "13.2", "12.8"),
    (to("meta.pytorch.nccl", "2.27"), "NCCL", "2.30.7", "2.27"),
    (to("meta.pytorch.cudnn", "9.1"), "cuDNN", "9.26", "9.1"),
    (to("meta.accelerators.driver", "550.54"), "driver", "580.95", "550.54"),
    (to("meta.milabench.commit", "b" * 40), "milabench commit", "a" * 12, "b" * 12),
    (to("version", "0.2"), "milabench", "0.1", "0.2"),
    (
        to("machine.milabench.dirty", True),
        "milabench commit",
        "a" * 12,
        f"{'a' * 12} with local changes",
    ),
    (to("machine.packages.triton", "3.8.0"), "triton", "3.9.0", "3.8.0"),
    (to("machine.python", "CPython 3.12.1"), "Python", "CPython 3.11.7", "CPython 3.12.1"),
    (
        to("machine.environment.NCCL_ALGO", "Tree"),
        "environment",
        "NCCL_ALGO=Ring",
        "NCCL_ALGO=Tree",
    ),
    (
        to("machine.environment.NVIDIA_TF32_OVERRIDE", "0"),
        "environment",
        "NCCL_ALGO=Ring",
        "NCCL_ALGO=Ring NVIDIA_TF32_OVERRIDE=0",
    ),
    (to("meta.accelerators.gpus", SLOWER_GPU), "devices", "2 x NVIDIA H100", "2 x NVIDIA A100"),
    (to("meta.accelerators.gpus", {"0": GPU}), "devices", "2 x NVIDIA H100", "1 x NVIDIA H100"),
    (
        to("meta.accelerators.gpus.0", {**GPU, "power_limit": 500.0}),
        "power limit",
        "700 W",
        "500 W, 700 W",
    ),
    (
        to("meta.accelerators.gpus.0", {**GPU, "memory": {"total": 96 * 1024.0}}),
        "device memory",
        "80 GiB",
        "80 GiB, 96 GiB",
    ),
    (to("meta.cpu.brand", "Intel"), "CPU", "96 x AMD EPYC 9654", "96 x Intel"),
    (to("preset", "small"), "preset", "full", "small"),
    (to("settings.argv.--batch-size", 64), "b.argv.--batch-size", "32", "64"),
    (to("settings.argv", {"--batch-size": 32}), "b.argv.--amp", "True", "(absent)"),
    (to("settings.env", {"X": "1"}), "b.env.X", "(absent)", "1"),
    (to("settings.num_machines", 2), "b.num_machines", "1", "2"),
    (to("settings.weight", 3.0), "b.weight", "1.0", "3.0"),
    (to("settings.program", "/p/other.py"), "b.program", "benchmarks/gpt/main.py", "/p/other.py"),
    (to("devices", 4), "b.devices", "2", "4"),
]


@pytest.mark.parametrize(("change", "name", "first", "second"), DIFFERENT)
def test_runs_that_differ_are_refused(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    change: Change,
    name: str,
    first: str,
    second: str,
) -> None:
    one, two = measured(tmp_path / "runs/one"), changed(tmp_path / "runs/two", change)
    for words in ([], ["--compat"], ["--csv"], ["--table", "throughput"]):
        assert main(["report", str(one), str(two), *words]) == 2
        out, error = capsys.readouterr()
        assert (out, error.splitlines()) == (
            "",
            [
                "milabench: runs that differ are not pooled:",
                f"  {name}: {first} ({one}), {second} ({two})",
                "  name those that do not, or pool them all the same with --pool",
            ],
        )
    assert main(["report", str(two), str(one)]) == 2
    assert main(["report", str(two)]) == main(["report", str(one)]) == 0
    assert main(["report", str(one), str(two), "--pool"]) == 0
    told = [found for found in report_of([one, two], pool=True).findings if found.evidence]
    assert f"runs that differ are pooled: {name}: {first} ({one}), {second} ({two})" in [
        found.sentence for found in told
    ]


def test_a_baseline_may_differ_and_it_is_told(tmp_path: Path) -> None:
    other = changed(tmp_path / "base", to("settings.argv.--batch-size", 64))
    made = report_of([measured(tmp_path / "run")], baseline=other)
    assert made.score.value == pytest.approx(1.0, rel=0.01)
    (note,) = made.notes
    assert note.startswith("the score compares runs that differ: b.argv.--batch-size: 32 (")
    assert not made.warnings


ALIKE: Sequence[Change] = [
    lambda facts: facts,
    to("meta.os", {"nodename": "node2", "release": "6.1"}),
    to("meta.accelerators.gpus", {str(k): {**GPU, "uuid": f"GPU-{k}"} for k in (3, 4)}),
    to("meta.milabench.date", "2026-11-02"),
    to("meta.milabench.tag", "v2"),  # of the same commit
    to("machine.environment", {"NCCL_ALGO": "Ring", "SLURM_JOB_ID": "2", "CUDA_HOME": "/x"}),
    to("machine.packages.voir", "0.3"),
    to("settings.max_duration", 60),
    to("settings.program", "/another/checkout/benchmarks/gpt/main.py"),
    to("meta", {}),  # what a run did not record
    to("machine", {}),
]


@pytest.mark.parametrize("change", ALIKE)
def test_other_nodes_of_the_same_kind_are_pooled(tmp_path: Path, change: Change) -> None:
    one, two = measured(tmp_path / "one"), changed(tmp_path / "two", change)
    made = report_of([one, two])
    (row,) = made.rows
    assert row.n == 4
    assert row.perf == pytest.approx(100.0, rel=0.01)
    assert [found.sentence for found in made.findings] == [f"2 runs are pooled: {one}, {two}"]


def test_paths_below_the_base_of_each_run_are_alike(tmp_path: Path) -> None:
    folders = []
    for name in ("one", "two"):
        facts = Facts()
        facts.settings["argv"]["--data"] = f"{tmp_path}/{name}/data"
        folders.append(measured(tmp_path / name / "runs" / "r", facts))
    assert not report_of(folders).warnings


def test_the_nodes_of_a_run_are_compared_as_kinds(tmp_path: Path) -> None:
    """One run on two nodes of a kind, one on another; then one on nodes of two kinds."""
    meta = deepcopy(META)
    meta["os"]["nodename"] = "node9"
    kinds = (META, meta), (meta, meta), (meta, {**meta, "cpu": {"count": 8, "brand": "Xeon"}})
    folders = []
    for number, metas in enumerate(kinds):
        folder = tmp_path / str(number)
        folders.append(folder)
        for node, seen in enumerate(metas):
            tag = ["b", "D0", f"n{node}"]
            tagged = config("b", device=0, devices=[0], tag=tag)
            values = rates([5.0] * 9)
            write(folder, ".".join(tag), tagged, line("meta", seen), start(), values, end())
    assert not report_of(folders[:2]).warnings
    with pytest.raises(PoolingError, match=r"CPU: 96 x AMD EPYC 9654 \(.*\), 8 x Xeon and 96 x"):
        report_of(folders)
    (warning,) = report_of(folders[2:]).warnings
    assert warning == (f"{folders[2]}: its results differ in CPU: 8 x Xeon, 96 x AMD EPYC 9654")


def test_the_head_counts_by_its_software_and_where_nodes_recorded_nothing(tmp_path: Path) -> None:
    def run(name: str, machine: Any, meta: Any = META) -> Path:
        return measured(tmp_path / name, Facts(meta=meta, machine=machine))

    login = {"host": {"cpu": {"count": 4, "brand": "Xeon"}}, "accelerators": {"arch": "cpu"}}
    runs = [run("a", {}), run("b", login)]
    assert not report_of(runs).warnings
    with pytest.raises(PoolingError, match=r"torch: 2\.14 and 2\.15\.0\+cu132 \("):
        report_of([run("c", {"pytorch": {"torch": "2.14"}}), *runs])
    other = {"host": {"cpu": {"count": 8, "brand": "Xeon"}}}
    with pytest.raises(PoolingError, match=r"CPU: 4 x Xeon .*, 8 x Xeon "):
        report_of([run("d", login, {}), run("e", other, {})])


def test_packages_modules_and_image_are_those_that_measured(tmp_path: Path) -> None:
    def run(name: str, modules: str, digest: str, version: str = "3.9.0") -> Path:
        meta = {**META, "modules": modules, "packages": {"triton": version}, "python": "3.12"}
        machine = {"container": {"image": "/i/torch.sif", "digest": f"sha256:{digest}"}}
        return measured(tmp_path / name, Facts(meta=meta, machine=machine))

    runs = [run("a", "cuda/12:gcc", "1" * 64), run("b", "cuda/12:gcc", "1" * 64)]
    assert not report_of(runs).warnings
    for other, said in (
        (run("c", "cuda/13:gcc", "1" * 64), r"modules: cuda/12 gcc \(.*\), cuda/13 gcc \("),
        (run("d", "cuda/12:gcc", "2" * 64), "image: torch.sif sha256:1{12} .* sha256:2{12} "),
        (run("e", "cuda/12:gcc", "1" * 64, "3.8.0"), "triton: 3.9.0 .*, 3.8.0 "),
    ):
        with pytest.raises(PoolingError, match=said):
            report_of([*runs, other])


def test_as_many_nodes_as_there_were(tmp_path: Path) -> None:
    """A configuration without ``num_machines``: the result files say how many."""
    for folder, nodes in (("a", 1), ("b", 2)):
        write_state(tmp_path / folder, "ok", {"b": "ok"})
        settings = config("b", num_machines=nodes)
        write(tmp_path / folder, "b.0", settings, start(), rates([5.0] * 9), end(0, outcome="ok"))
    with pytest.raises(PoolingError, match=r"b\.num_machines: 1 \(.*\), 2 \("):
        report_of([tmp_path / "a", tmp_path / "b"])


def test_a_run_that_was_resumed_with_another_version_is_told(tmp_path: Path) -> None:
    run = measured(tmp_path / "r")
    meta = {**META, "milabench": {"commit": "c" * 40}}
    values = rates([5.0] * 9)
    write(run, "c.D0", config("c"), line("meta", meta), start(), values, end(0, outcome="ok"))
    (warning,) = report_of([run]).warnings
    assert warning == f"{run}: its results differ in milabench commit: {'a' * 12}, {'c' * 12}"


def test_many_runs_and_many_differences(tmp_path: Path) -> None:
    facts = Facts(preset="small")
    facts.settings["argv"] = {f"--x{k}": 1 for k in range(20)}
    runs = [measured(tmp_path / "a"), measured(tmp_path / "b"), measured(tmp_path / "c", facts)]
    with pytest.raises(PoolingError) as raised:
        report_of(runs)
    lines = str(raised.value).splitlines()
    assert lines[1] == f"  preset: full ({runs[0]}, {runs[1]}), small ({runs[2]})"
    assert len(lines) == 15
    assert lines[-2] == "  ... and 11 more"
    assert report_of(runs, pool=True).rows[0].n == 6


def test_milabenchs_runs_are_compared_where_they_can_be(tmp_path: Path) -> None:
    for name, batch in (("a", 1), ("b", 1), ("c", 2)):
        settings = {"argv": {"--batch": batch}, "dirs": {"base": name}, "run_name": name}
        write(tmp_path / name, "b.D0", config("b", **settings), start(), rates([5.0] * 9), end())
    runs = [tmp_path / name for name in "abc"]
    assert not report_of(runs[:2]).warnings
    with pytest.raises(PoolingError, match=r"b\.argv\.--batch: 1 .*, 2 "):
        report_of(runs)


def test_uncommitted_changes_on_both_sides_are_told(tmp_path: Path) -> None:
    dirty = to("machine.milabench.dirty", True)
    runs = [changed(tmp_path / name, dirty) for name in "ab"]
    (warning,) = report_of(runs).warnings
    assert warning == f"milabench had local changes, which may differ, in {runs[0]}, {runs[1]}"


@pytest.mark.parametrize("pool", [False, True])
def test_a_copy_is_no_other_launch(tmp_path: Path, pool: bool) -> None:
    """A folder and its copy; a second run of the same minute has processes of its own."""
    for name, pid in (("one", 7), ("copy", 7), ("two", 8)):
        begun = line("start", {"command": ["python"], "time": 1000.0, "pid": pid})
        write(tmp_path / name, "b.D0", config("b", device=0), begun, rates([1.0] * 9), end())
    assert report_of([tmp_path / "one", tmp_path / "two"], pool=pool).rows[0].n == 2
    with pytest.raises(PoolingError, match=r"copy is a copy of .*one, at least of b\.D0"):
        report_of([tmp_path / "one", tmp_path / "copy"], pool=pool)


def test_a_pid_that_is_none_tells_no_copy(tmp_path: Path) -> None:
    for run, pid, time in (("a", [[1]], 1.0), ("b", 7, []), ("c", 7, 2.0)):
        begun = line("start", {"command": [], "pid": pid, "time": time})
        write(tmp_path / run, "b.D0", config("b", device=0), begun, rates([1.0]), end())
    assert len(report_of([tmp_path / run for run in "abc"], pool=True).runs) == 3


def test_each_record_is_looked_at_as_often_among_many_benchmarks(tmp_path: Path) -> None:
    def work(count: int) -> Callable[[], object]:
        for k in range(count):
            values = rates([1.0] * 3)
            write(tmp_path / str(count), f"b{k}.D0", config(f"b{k}"), start(), values, end())
        run = read_run(tmp_path / str(count))
        return lambda: differences_of([run, run])

    assert grown_faster(work, 8) == {}
