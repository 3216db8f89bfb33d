from pathlib import Path

from milabench_ddp.config.schema import SkippedBenchmark
from milabench_ddp.render.text import text_of
from milabench_ddp.report.faces import report_text
from milabench_ddp.report.failure_faces import failures
from milabench_ddp.report.model import Failure, Report
from milabench_ddp.report.run_info import RunInfo

SMALL = "disabled by the preset small"


def test_what_was_not_run_has_a_line_for_each_reason() -> None:
    reasons = {
        "a": f"{SMALL} (x.yaml:1)",
        "b": "not selected by --select",
        "c": f"{SMALL}: only CUDA has it (x.yaml:3)",
        "d": "it needs 8 GPUs, and there are 2",
        "e": f"{SMALL} (x.yaml:5)",
        "f": "disabled: it needs `milabench prepare`; then --select f (x.yaml:7)",
    }
    skipped = [SkippedBenchmark(name, reason) for name, reason in reasons.items()]
    run = RunInfo("r", Path("r"), "ok", skipped=tuple(skipped * 2))
    told = report_text(Report(False, (run,), ()), 80)
    assert told.partition("Not run  ")[2].splitlines()[:4] == [
        f"a, c, e: {SMALL}",
        "         b: not selected by --select",
        "         d: it needs 8 GPUs, and there are 2",
        "         f: disabled: it needs `milabench prepare`; then --select f",
    ]


def test_a_failure_with_the_end_of_its_output() -> None:
    lines = ("  File main.py, in train", '    raise ValueError("all of the loss is NaN")')
    whole = Path("/scratch/of/somebody/runs/monday/b.0.stderr")
    first = Failure("b", "monday", "b.0", "failed", "rank 1: it broke", 1, lines, whole)
    script = Path("runs/monday/c/command.sh")
    silent = [
        Failure("c", "monday", f"c.{k}", "failed", f"exit status {k // 4}", script=script)
        for k in range(6)
    ]
    made = Report(False, (), (), (first, *silent))
    assert text_of(failures(made), 40).splitlines() == [
        "b.0, rank 1: failed: it broke",
        "      File main.py, in train",
        '        raise ValueError("all of the',
        '        loss is NaN")',
        "    all of it:",
        "    /scratch/of/somebody/runs/monday/b.0.stderr",
        "",
        "c.0: failed: exit status 0",
        "    (it printed nothing)",
        "    the same: c.1, c.2, c.3",
        "c.4: failed: exit status 1",
        "    (it printed nothing)",
        "    the same: c.5",
        "    -> to repeat it: bash",
        "       runs/monday/c/command.sh",
    ]
