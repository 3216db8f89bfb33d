"""``run --profile``: a launch of its own for what had a finding, beside the numbers."""

import json

import pytest

from milabench_ddp.cli import main
from milabench_ddp.commands.traces import STEPS, traced
from tests.support.launches import benchmark
from tests.support.workplace import EMIT, Suite, Workplace

ON_CPU = ("--device", "cpu", "--gpus", "1", "--name", "mine", "--quiet")
# Its steps wait for data for so long; with --profile it also writes a trace, as our programs do.
LOADER = """
args = sys.argv[1:]
for step in range(60): rate(100.0)
times = {"rank": 0, "from": 0, "ms": [10.0] * 60, "wait_ms": [WAIT] * 60}
parts = {"forward": [10.0 - WAIT] * 60}
emit(task="main", rank=0, step_times={**times, "parts": parts})
if "--profile" in args:
    folder = os.environ["MILABENCH_TRACES"]
    with open(f"{folder}/m-single.rank0.trace.json", "w") as file:
        json.dump({"traceEvents": [], "args": args}, file)
"""
BOUND, FREE = (EMIT + f"WAIT = {wait}" + LOADER for wait in (5.0, 0.0))


def outcome(at: Workplace) -> list[tuple[str, float]]:
    report = json.loads(at.milabench("report", str(at.run()), "--format", "json").out)
    return [(row["name"], row["n"]) for row in report["benchmarks"]]


def test_what_had_a_finding_is_traced_apart_from_the_numbers(at: Workplace, suite: Suite):
    config = suite(bound=BOUND, free=FREE)
    done = at.milabench("run", config, *ON_CPU, "--profile", "on-finding")
    folder = at.run() / "traces" / "bound"
    path = folder / "m-single.rank0.trace.json"
    assert done.code == 0
    assert done.out.endswith(f"\nbound: profile: {path}\n")
    assert json.loads(path.read_text())["args"] == list(STEPS)
    assert not (at.run() / "traces" / "free").exists()
    assert outcome(at) == [("bound", 1), ("free", 1)]
    again = at.milabench("report", str(at.run())).out
    assert f"\nTraces   bound: {path}\n" in again
    assert again.count("bound: its ranks wait for data") == 1


def test_never_unless_asked_for(at: Workplace, suite: Suite):
    at.milabench("run", suite(bound=BOUND), *ON_CPU)
    assert not (at.run() / "traces").exists()


def test_programs_that_make_no_trace_are_told(at: Workplace, suite: Suite):
    rates = EMIT + "for step in range(60): rate(100.0)\n"
    strict = rates + "import argparse; argparse.ArgumentParser().parse_args()"
    config = suite(strict=strict, deaf=rates, fails=rates + "sys.exit(3 if sys.argv[1:] else 0)")
    done = at.milabench("run", config, *ON_CPU, "--profile", "always")
    assert done.code == 0
    assert "\nstrict: no trace: its program has no option --profile\n" in done.out
    assert "\ndeaf: no trace: its program wrote none (see " in done.out
    assert "\nfails: no trace: exit status 3 (see " in done.out
    assert outcome(at) == [("strict", 1), ("deaf", 1), ("fails", 1)]


@pytest.mark.parametrize(("when", "count"), [("on-finding", 0), ("always", 1)])
def test_dry_shows_what_is_certain(
    at: Workplace, suite: Suite, capsys: pytest.CaptureFixture[str], when: str, count: int
):
    config = at.folder / suite(bound=BOUND)
    assert main(["dry", str(config), *ON_CPU[:4], "--profile", when]) == 0
    assert capsys.readouterr().out.count(" ".join(STEPS)) == count


def test_the_check_of_the_gradients_is_left_out():
    asked = benchmark(argv=("--model", "m", "--check-correctness", "--seconds", "30"))
    assert traced(asked).argv == ("--model", "m", "--seconds", "30", *STEPS)
