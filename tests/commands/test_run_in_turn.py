"""``milabench run A B``: two configurations whose launches take turns, and their comparison."""

import os
import re
import signal
from pathlib import Path

import pytest

from tests.support.wait import PATIENCE, wait_for
from tests.support.workplace import EMIT, Workplace

ON_CPU = ("--device", "cpu", "--gpus", "1")
PROGRAM = EMIT + (
    "offset = float(sys.argv[1])\n"
    "if len(sys.argv) > 2 and not os.path.exists(sys.argv[2]):\n"
    "    open(sys.argv[2], 'w').close()\n"
    "    time.sleep(600)\n"
    "for step in range(20): rate(offset + step % 3)"
)


def configured(at: Workplace, **argv: str) -> list[str]:
    at.write("x.py", PROGRAM)
    for name, words in argv.items():
        line = f"x: {{program: x.py, plan: {{method: per_gpu}}, max_duration: 600, argv: {words}}}"
        at.write(f"{name}.yaml", f"{line}\n")
    return [f"{name}.yaml" for name in argv]


def order(at: Workplace) -> list[str]:
    begun = []
    for side in ("before", "after"):
        for launch in at.state(f"mine.{side}").benchmarks["x"].launches:
            begun.append((launch.processes[0].started, f"{side} {launch.repeat}"))
    return [what for _, what in sorted(begun)]


def test_the_launches_take_turns_and_are_compared(at: Workplace):
    configs = configured(at, a="['100']", b="['90']")
    words = [*ON_CPU, "--name", "mine", "--repeat", "3"]
    done = at.milabench("run", *configs, *words)
    assert done.code == 0
    assert order(at) == ["before 0", "after 0", "after 1", "before 1", "before 2", "after 2"]
    before, after = (str(at.run(f"mine.{side}")) for side in ("before", "after"))
    compared = at.milabench("compare", before, after)
    assert done.out.endswith(f"\n\n{compared.out}")
    assert re.search(r"^x +\| +10.*\| +0.90.*\| slower ", compared.out, re.MULTILINE)
    assert "differs  x: argv: ['100'] -> ['90']" in compared.out
    assert "if pairs vary independently\n" in compared.out
    assert at.milabench("compare", before, after, "--fail-on", "slower").code == 1
    assert at.milabench("report", after).code == 0
    assert re.search(r"^\S+ mine.after: x R1: measuring$", done.err, re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("resumed", ["before", "after"])
def test_both_are_resumed_in_pairs(at: Workplace, resumed: str):
    """B is stopped in its second launch, before that of A: both go on there."""
    mark = at.folder / "mark"
    configs = configured(at, a="['100']", b=f"['100', '{mark}']")
    mark.touch()  # so that the first launch does not stay
    words = [*ON_CPU, "--name", "mine", "--repeat", "3"]
    with at.start("run", *configs, *words, start_new_session=True) as process:
        first = at.run("mine.after") / "x.R0.D0.data"
        wait_for(lambda: first.exists() and '"rate"' in first.read_text())
        mark.unlink()
        wait_for(mark.exists)
        os.kill(process.pid, signal.SIGINT)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert {at.statuses(f"mine.{side}")["x"] for side in ("before", "after")} == {"cancelled"}
    done = at.milabench("run", "--resume", str(at.run(f"mine.{resumed}")))
    assert done.code == 0
    assert order(at) == ["before 0", "after 0", "after 1", "before 1", "before 2", "after 2"]
    assert "compared in pairs" in done.out
    again = at.milabench("run", "--resume", str(at.run("mine.before")))
    assert (again.code, "nothing to run, all 2 have a result" in again.err) == (0, True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--runner", "slurm"], "two configurations need one node, this host"),
        (["--nodes", "2"], "two configurations need one node, this host"),
    ],
)
def test_they_are_for_this_host(at: Workplace, words: list[str], told: str):
    done = at.milabench("run", *configured(at, a="['100']", b="['90']"), *ON_CPU, *words)
    assert (done.code, told in done.err) == (2, True)
    assert not Path(at.folder / "base" / "runs").exists()


def test_a_second_configuration_that_is_wrong_is_refused_before_the_first_runs(at: Workplace):
    configs = configured(at, a="['100']", b="[']")
    done = at.milabench("run", *configs, *ON_CPU)
    assert (done.code, "b.yaml" in done.err) == (2, True)
    assert not Path(at.folder / "base" / "runs").exists()
