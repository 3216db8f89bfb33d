import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.errors import PlanError
from milabench_ddp.plan import planner
from milabench_ddp.plan.launch import Launch
from milabench_ddp.plan.planner import plan_launches, scaled
from tests.support.launches import SITE, benchmark, cluster, njobs

sizes = st.integers(1, 10_000)


def only(launches: list[Launch]) -> Launch:
    (launch,) = launches
    return launch


def test_repeats_have_a_mark_of_their_own():
    launches = plan_launches(benchmark(), cluster(gpus=1), SITE, repeats=2)
    assert [launch.processes[0].name for launch in launches] == ["b.R0.D0", "b.R1.D0"]
    assert [launch.repeat for launch in launches] == [0, 1]


def test_num_machines_limits_the_nodes():
    launch = only(plan_launches(benchmark(num_machines=1), cluster(gpus=1, nodes=2), SITE))
    assert [p.name for p in launch.processes] == ["b.D0"]
    with pytest.raises(PlanError, match="b: needs 3 nodes, but there are 2"):
        plan_launches(benchmark(num_machines=3), cluster(nodes=2), SITE)


def test_the_venv_of_the_install_group_has_the_interpreter():
    site = type(SITE)(SITE.python, {"vision": "/base/venv/vision/bin/python"}, SITE.voir_shim)
    b = benchmark(install_group="vision")
    (process,) = only(plan_launches(b, cluster(gpus=1), site)).processes
    assert process.argv[0] == "/base/venv/vision/bin/python"


def test_voir_goes_around_the_script_and_inside_torchrun(tmp_path):
    b = benchmark(voir={"stop": 3}, voirfile=tmp_path / "voirfile.py", argv=("--x",), plan=njobs(1))
    (process,) = only(plan_launches(b, cluster(gpus=1), SITE)).processes
    shim = str(SITE.voir_shim)
    assert process.argv[-5:] == (shim, "--options", '{"stop": 3}', "/programs/main.py", "--x")
    assert process.argv[-6].startswith("--rdzv-id")
    assert process.env["VOIRFILE"] == str(tmp_path / "voirfile.py")


def test_a_program_that_is_no_python_is_executed_as_it_is(tmp_path):
    from pathlib import Path

    b = benchmark(program=Path("/programs/run.sh"))
    assert only(plan_launches(b, cluster(gpus=1), SITE)).processes[0].argv == ("/programs/run.sh",)
    job = benchmark(program=Path("/programs/run.sh"), plan=njobs(1))
    assert "--no-python" in only(plan_launches(job, cluster(gpus=1), SITE)).processes[0].argv


@given(sizes, st.integers(1, 64))
def test_weak_scaling_keeps_the_batch_of_a_replica(size: int, nodes: int) -> None:
    weak = benchmark(argv=("--batch-size", str(size)))
    assert scaled(weak, nodes) == weak


@given(sizes, st.integers(1, 64))
def test_strong_scaling_keeps_the_global_batch(share: int, nodes: int) -> None:
    argv = ("--lr", "1", "--batch-size", str(share * nodes), "--amp")
    strong = benchmark(argv=argv, scaling="strong")
    found = scaled(strong, nodes)
    assert found.argv == ("--lr", "1", "--batch-size", str(share), "--amp")
    assert int(found.argv[3]) * nodes == share * nodes


@given(sizes, st.integers(2, 64))
def test_what_does_not_divide_is_refused(size: int, nodes: int) -> None:
    strong = benchmark(argv=("--batch-size", str(size)), scaling="strong")
    if size % nodes:
        with pytest.raises(PlanError) as caught:
            scaled(strong, nodes)
        assert str(caught.value) == (
            f"b: `scaling: strong` divides --batch-size {size} by {nodes} nodes, and {nodes} does "
            f"not divide it: choose a multiple"
        )


@pytest.mark.parametrize("argv", [(), ("--batch-size",), ("--batch-size", "auto"), ("32",)])
def test_no_batch_size_to_divide(argv: tuple[str, ...]) -> None:
    strong = benchmark(argv=argv, scaling="strong")
    assert scaled(strong, 1) == strong
    with pytest.raises(PlanError, match="its argv has none: add it, or use `scaling: weak`"):
        scaled(strong, 2)


def test_the_processes_of_each_node_have_their_share() -> None:
    strong = benchmark(argv=("--batch-size", "32"), scaling="strong")
    (launch,) = plan_launches(strong, cluster(gpus=1, nodes=4), SITE)
    assert [process.argv[-2:] for process in launch.processes] == [("--batch-size", "8")] * 4


def test_more_processes_than_a_plan_holds(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(planner, "MOST_PROCESSES", 7)
    assert len(plan_launches(benchmark("x"), cluster(gpus=2), SITE, 3)) == 3
    with pytest.raises(PlanError, match=r"^x: more than 7 processes in all: give fewer"):
        plan_launches(benchmark("x"), cluster(gpus=2), SITE, 10**9)


def test_the_processes_of_many_nodes_share_their_words_and_variables() -> None:
    """A plan of 65,536 GPUs has 1,000,000 processes of the suite."""
    (launch,) = plan_launches(benchmark(argv=("--x", "1")), cluster(8, 100), SITE)
    assert len({id(process.argv) for process in launch.processes}) == 1
    assert len({id(process.env) for process in launch.processes}) == 8
