"""What is said of processes that SIGKILL did not end, by benchmarks whose states are known."""

from pathlib import Path

from milabench_ddp.codec import write_record
from milabench_ddp.commands.final_report import exit_code
from milabench_ddp.events import Outcome, Status
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.faces import report_text
from milabench_ddp.report.finding import Severity
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.state import BenchmarkState, LaunchState, ProcessState, Survivor
from tests.support.result_files import config, end, rates, start, write, write_state

LEFT = Survivor(123, 5, "b"), Survivor(124, 5, "b")
ALONE = Survivor(9, 7, "c")


def benchmark(folder: Path, name: str, *launches: tuple[Survivor, ...]) -> None:
    """A benchmark that ended ok, and what each of its launches told."""
    ended = []
    for repeat, survivors in enumerate(launches):
        tag = f"{name}.R{repeat}.D0"
        told = ProcessState(tag, 1, 0, Outcome.OK, "", 10.0, 20.0, survivors=survivors)
        ended.append(LaunchState(repeat, Outcome.OK, "", (told,)))
        settings = config(name, tag=[name, f"R{repeat}", "D0"])
        write(folder, tag, settings, start(), rates([1.0] * 9), end(0, outcome="ok"))
    state = BenchmarkState(name, Status.OK, launches=ended)
    write_record(RunDir(folder).state_json(name), state)


def test_each_benchmark_tells_what_ran_beside_it(tmp_path: Path) -> None:
    write_state(tmp_path, "ok", dict.fromkeys(("a", "b", "c", "d"), "ok"))
    benchmark(tmp_path, "a", ())
    benchmark(tmp_path, "b", LEFT, LEFT)  # the second launch still sees them
    benchmark(tmp_path, "c", (*LEFT, ALONE))
    benchmark(tmp_path, "d", (ALONE,))
    report = report_of([tmp_path])
    found = [each for each in report.findings if each.name == "survivors"]
    assert {each.severity for each in found} == {Severity.ERROR}
    assert [(each.benchmark, each.sentence) for each in found] == [
        ("b", "b: 2 processes of b run beside what follows: SIGKILL did not end 123, 124"),
        ("c", "c: 2 processes of b run beside it: SIGKILL did not end 123, 124"),
        ("c", "c: 1 process of c runs beside what follows: SIGKILL did not end 9"),
        ("d", "d: 1 process of c runs beside it: SIGKILL did not end 9"),
    ]
    said = found[0].sentence.removeprefix("b: ")
    assert report_text(report, 1000).startswith(
        f"FAIL: 4 of 4 benchmarks ok, but b: {said}; 3 more errors\n"
    )
    assert exit_code(report) == 1
