from pathlib import Path

from milabench_ddp.plan import command_line
from milabench_ddp.plan.command_line import Site
from tests.support.launches import benchmark

SITE = Site("/usr/bin/python3", {"mine": "/venv/mine/bin/python"}, Path("/shim.py"))
BINARY = Path("/programs/compiled")


def test_a_script_runs_unbuffered_in_the_interpreter_of_its_install_group() -> None:
    words = ("-u", "/programs/main.py", "--m", "8")
    argv = ("--m", "8")
    assert command_line.plain(benchmark(argv=argv), SITE) == ("/usr/bin/python3", *words)
    own = benchmark(argv=argv, install_group="mine")
    assert command_line.plain(own, SITE) == ("/venv/mine/bin/python", *words)


def test_any_other_program_is_executed_as_it_is() -> None:
    assert command_line.plain(benchmark(program=BINARY), SITE) == ("/programs/compiled",)
    words = command_line.torchrun(benchmark(program=BINARY), SITE, 2, 1, "b.0")
    assert words[-2:] == ("--no-python", "/programs/compiled")


def test_under_voir_the_shim_comes_first_with_its_options() -> None:
    run = ("/usr/bin/python3", "-u", "/shim.py")
    assert command_line.plain(benchmark(voir={}), SITE) == (*run, "/programs/main.py")
    with_options = benchmark(voir={"stop": 20})
    words = (*run, "--options", '{"stop": 20}', "/programs/main.py")
    assert command_line.plain(with_options, SITE) == words
    assert command_line.is_python(benchmark(program=BINARY, voir={}))


def test_torchrun_finds_a_port_on_one_node_and_is_given_one_on_several() -> None:
    start = ("/usr/bin/python3", "-m", "torch.distributed.run")
    one = command_line.torchrun(benchmark(), SITE, 4, 1, "b.0")
    assert one == (
        *start, "--nnodes=1", "--nproc-per-node=4", "--rdzv-backend=c10d",
        "--rdzv-endpoint=localhost:0", "--local-addr=localhost", "--rdzv-id=b.0",
        "/programs/main.py",
    )  # fmt: skip
    two = command_line.torchrun(benchmark(), SITE, 4, 2, "b.0")
    assert two == (
        *start, "--nnodes=2", "--nproc-per-node=4", "--rdzv-backend=static", "--rdzv-id=b.0",
        "/programs/main.py",
    )  # fmt: skip


def test_a_command_is_bound_to_cores_where_there_are_some() -> None:
    assert command_line.taskset(("program",), (0, 3)) == ("taskset", "--cpu-list", "0,3", "program")
    assert command_line.taskset(("program",), ()) == ("program",)
