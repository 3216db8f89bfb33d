"""``validate`` on nodes that are parts of this machine: what it runs, writes and returns."""

from pathlib import Path

import pytest

from milabench_ddp.cli import main
from milabench_ddp.config.conditions import MachineFacts
from milabench_ddp.config.load import SuiteRequest, load
from milabench_ddp.options.suite import LEVELS
from tests.support.workplace import EMIT, GOOD, Workplace

PLACE = ("--device", "cpu", "--gpus", "1", "--nodes", "3", "--name", "mine", "--quiet")
# The first process that comes breaks, so that it is not known beforehand which node that is.
ONE_BREAKS = (
    EMIT
    + """
try:
    os.mkdir(sys.argv[0] + ".taken")
except FileExistsError:
    for step in range(20): rate(100.0 + step % 3)
else:
    raise ValueError("the gradient went away")
"""
)


def write_suite(at: Workplace, program: str) -> str:
    at.write("p.py", program)
    at.write("slow.py", GOOD)
    at.write(
        "mine.yaml",
        """
        one: {program: p.py, plan: {method: per_gpu}, tags: [validate, quick], max_duration: 60}
        two: {program: slow.py, plan: {method: per_gpu}, tags: [validate, deep], max_duration: 60}
        """,
    )
    return "mine.yaml"


def lists(at: Workplace) -> tuple[list[str], list[str]]:
    passing, failing = ((at.run() / f"{word}_nodes.txt") for word in ("passing", "failing"))
    return passing.read_text().splitlines(), failing.read_text().splitlines()


def test_the_node_that_breaks_fails(at: Workplace) -> None:
    done = at.milabench("validate", write_suite(at, ONE_BREAKS), *PLACE)
    assert done.code == 1, done.err
    assert done.out.startswith("FAIL: 2 of 3 nodes pass, 1 fail"), done.out
    processes = at.state().benchmarks["one"].launches[0].processes
    (broken,) = (each.tag.split(".")[-1] for each in processes if each.outcome != "ok")
    others = [node for node in ("node0", "node1", "node2") if node != broken]
    assert lists(at) == (others, [broken])
    assert list(at.statuses()) == ["one"]  # quick, without a word
    shown = at.milabench("report", str(at.run()), "--table", "verdicts", "--format", "csv")
    assert shown.code == 1
    verdicts = dict(line.split(",")[:2] for line in shown.out.splitlines()[1:])
    assert {node for node, verdict in verdicts.items() if verdict == "fail"} == {broken}
    assert len(verdicts) == 3


def test_nobody_fails_where_all_break(at: Workplace) -> None:
    done = at.milabench("validate", write_suite(at, "raise ValueError('no')"), *PLACE)
    assert done.code == 3, done.out
    assert lists(at) == ([], [])


def test_a_report_and_other_runs_write_no_lists(at: Workplace) -> None:
    """Those of a validation are written where it ends, as for ``watch``."""
    done = at.milabench("validate", write_suite(at, GOOD), *PLACE)
    assert done.code == 0, done.out
    assert lists(at) == (["node0", "node1", "node2"], [])
    (at.run() / "passing_nodes.txt").unlink()
    assert at.milabench("report", str(at.run())).code == 0
    assert not (at.run() / "passing_nodes.txt").exists()
    assert at.milabench("watch", str(at.run())).code == 0
    assert (at.run() / "passing_nodes.txt").exists()


@pytest.mark.parametrize("kept", [0, 1])
def test_a_node_whose_records_are_damaged_does_not_pass_and_the_others_do(
    at: Workplace, kept: int
) -> None:
    done = at.milabench("validate", write_suite(at, GOOD), "--level", "deep", *PLACE)
    assert done.code == 0, done.out
    path = at.run() / "two.D1.node1.data"
    lines = path.read_text().splitlines(keepends=True)
    path.unlink()
    if kept:  # the line that tells its node is not among them
        path.write_text("".join(lines[:kept]))
    watched = at.milabench("watch", str(at.run()))
    assert watched.code == 3
    assert lists(at) == (["node0", "node2"], []), watched.out


def test_what_cannot_be_written_beside_a_report_does_not_take_its_place(at: Workplace) -> None:
    done = at.milabench("validate", write_suite(at, GOOD), *PLACE)
    (at.run() / "passing_nodes.txt").unlink()
    (at.run() / "passing_nodes.txt" / "in the way").mkdir(parents=True)
    watched = at.milabench("watch", str(at.run()))
    assert watched.code == 0
    assert watched.out.splitlines()[0] == done.out.splitlines()[0]
    assert watched.err.splitlines()[-1] == (
        f"milabench: warning: no lists of nodes in {at.run()}: Is a directory"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--level", "deep", "--select", "x"], "--level goes without --select"),
        (["--level", "deep", "--resume", "x"], "--level goes without --resume"),
        (["nosuch"], "nosuch: no such file"),
    ],
)
def test_what_is_refused(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", *words]) == 2
    assert said in capsys.readouterr().err


def test_the_levels_of_the_shipped_suite() -> None:
    """A level has all benchmarks of those below it; quick needs no rendezvous, and ends soon."""
    facts = MachineFacts("cuda", 4, 8, 64, "GPU", 8e4, Path("/"))
    made = {
        level: load(SuiteRequest("validate", select=(f"@{level}",)), facts).benchmarks
        for level in LEVELS
    }
    names = [{each.name for each in made[level]} for level in LEVELS]
    assert names[0] < names[1] < names[2]
    assert all("validate" in each.tags and not each.weight for each in made["deep"])
    for each in made["quick"]:
        assert each.plan.method == "per_gpu"
        assert each.max_duration <= 60
    assert all(each.max_duration <= 120 for each in made["standard"])
