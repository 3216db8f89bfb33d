"""The causes of failures: one for all that are alike, with the culprit and what to do."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from milabench_ddp.events import NO_RATE, NO_USABLE_RATE, Outcome, Verdict
from milabench_ddp.report.failure_causes import cause_of, causes_of
from milabench_ddp.report.model import Failure, Report, Row
from milabench_ddp.report.run_info import RunInfo

RUN = Path("run")
RAISED = ("Traceback (most recent call last):", '  File "main.py", line 3, in f', "    f()")


def failure(name: str = "b", tag: str = "D0", reason: str = "exit status 1", **more) -> Failure:
    return Failure(name, "run", f"{name}.{tag}", Outcome.FAILED, reason, folder=RUN, **more)


def report(*failures: Failure, processes: int = 1, **verdicts: Verdict) -> Report:
    names = dict.fromkeys(each.benchmark for each in failures)
    rows = [Row.unmeasured(name, 1, 1.0, {}, processes) for name in names]
    return Report(False, (RunInfo("run", RUN, "failed", verdicts=verdicts),), tuple(rows), failures)


@pytest.mark.parametrize(
    ("reason", "lines", "cause", "advice"),
    [
        ("exit status 1", (*RAISED, "KeyError: 'x: not found'"), "KeyError: 'x: not found'", ""),
        ("exit status 1: ValueError: one. Two", (), "ValueError: one.", ""),
        ("exit status 127", ("sh: 1: nsys: not found",), "no such program: nsys", "PATH"),
        (
            "exit status 1",
            (*RAISED, "ModuleNotFoundError: No module named 'torch.x.y'"),
            "no module torch.x.y",
            "the installed torch lacks it",
        ),
        (
            "exit status 1",
            (*RAISED, "ModuleNotFoundError: No module named 'x'"),
            "no module x",
            "`pip install x`",
        ),
        ("exit status 2", ("main.py: error: no --x",), "main.py: no --x", "`main.py --help`"),
        ("exit status 3", (), "exit status 3, and it printed nothing", ""),
        ("exit status 3", ("bye", "^^^^"), "exit status 3, and printed last: bye", ""),
        (
            "killed by SIGKILL: this host was out of memory, and its kernel killed a process",
            (),
            "this host ran out of memory",
            "--mem",
        ),
        ("exit status 1: MemoryError", (), "this host ran out of memory", "--mem"),
        ("rank 3: killed by SIGSEGV", (), "killed by SIGSEGV", "PYTHONFAULTHANDLER"),
        (
            "exit status 3",
            ("bad data", " 99%|###| 9/9 [00:01, 3it/s]"),
            "exit status 3, and printed last: bad data",
            "",
        ),
        (
            "exit status 3",
            ("Epoch 1: 9%|#  | 1/9",),
            "exit status 3, and printed last: Epoch 1: 9%|#  | 1/9",
            "",
        ),
        (
            "exit status 1",
            (
                "FileNotFoundError: [Errno 2] No such file or directory: '/nope'",
                "",
                "The above exception was the direct cause of the following exception:",
                "",
                *RAISED,
                "RuntimeError: could not load data",
            ),
            "no such file: /nope",
            "make it",
        ),
        (
            f"{NO_USABLE_RATE}: 70 not usable (the first is nan)",
            (),
            "it told no rate that counts: 70 not usable (the first is nan)",
            "above 0",
        ),
        (NO_RATE, (), "it reported no rate that can be used", "`milabench new`"),
        ("exit status 7", ("[rank0]: of another",), "exit status 7, and it printed nothing", ""),
        (
            "exit status 126",
            ("sh: a$(b): Permission denied",),
            "not executable: a$(b)",
            "`chmod +x 'a$(b)'`",
        ),
        (
            "exit status 1",
            (
                "  + Exception Group Traceback (most recent call last):",
                '  |   File "main.py", line 3, in <module>',
                "  | ExceptionGroup: many (2 sub-exceptions)",
                "  +-+---------------- 1 ----------------",
                "    | ValueError: a",
                "    +------------------------------------",
            ),
            "ExceptionGroup: many (2 sub-exceptions)",
            "",
        ),
        ("no report can be made of it: X", ("a line",), "no report can be made of it: X", ""),
    ],
)
def test_the_cause_is_what_the_output_ends_with(
    reason: str, lines: tuple[str, ...], cause: str, advice: str
) -> None:
    said, what_to_do = cause_of(failure(reason=reason, lines=lines, rank=3), {})
    assert said == cause
    assert advice in what_to_do
    assert bool(advice) == bool(what_to_do)


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        (". GPU 0 has a total capacity of 44.56 GiB of which 1.06 GiB is free.", " (44.56 GiB)"),
        (
            ". GPU 0 has a total capacity of 39.39 GiB of which 1.06 GiB is free. Including "
            "non-PyTorch memory, this process has 38.31 GiB memory in use. Of the allocated memory "
            "36.92 GiB is allocated by PyTorch, and 611.21 MiB is reserved by PyTorch",
            " (39.39 GiB): 36.92 GiB in tensors",
        ),
        (" (GPU 0; 47.54 GiB total capacity; 31.64 GiB already allocated;", " (47.54 GiB)"),
        (
            ". GPU 0 has a total capacity of 139.80 GiB of which 713.00 MiB is free. "
            "Process 301 has 139.10 GiB memory in use. Including non-PyTorch memory, this process",
            " (139.80 GiB), of which process 301 holds 139.10 GiB",
        ),
        ("", ""),
    ],
)
def test_how_much_memory_there_is_and_who_holds_it(said: str, cause: str) -> None:
    raised = f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB{said}"
    text, _ = cause_of(failure(reason=f"exit status 1: {raised}"), {})
    assert text == f"out of GPU memory{cause}"


@pytest.mark.parametrize(
    ("argv", "half"),
    [
        ({"--batch-size": 32}, ", such as half of it: --override b.argv.--batch-size=16"),
        ({"--micro-batch-size": 1}, ""),
        (["train", "--batch-size", "64"], ""),
        ({}, ""),
    ],
)
def test_where_the_batch_is_known_half_of_it_is_advised(argv: object, half: str) -> None:
    said = "exit status 1: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB."
    text, advice = cause_of(failure(reason=said), {"argv": argv})
    assert (text, advice) == ("out of GPU memory", f"a smaller batch{half}")


def test_failures_that_differ_only_in_numbers_are_one_and_the_most_frequent_is_first() -> None:
    own = failure("a", reason="exit status 1: KeyError: 'odd'")
    alike = [failure(f"b{k}", reason=f"exit status 1: KeyError: 0x{k}f: {k}") for k in range(3)]
    found = causes_of(report(own, *alike))
    assert [cause.benchmarks for cause in found] == [("b0", "b1", "b2"), ("a",)]
    assert found[0].text == "KeyError: 0x0f: 0"


def test_the_process_or_the_rank_is_named_where_it_is_one() -> None:
    one = failure(tag="D2")
    assert causes_of(report(one, processes=4))[0].where == ("b.D2",)
    assert causes_of(report(one))[0].where == ("b",)
    two = [one, failure(tag="D3"), failure(tag="D0", reason="killed by SIGTERM")]
    assert causes_of(report(*two, processes=4))[0].where == ("b (2 of 4 processes)",)
    numbers = [failure(tag=f"D{k}", reason=f"exit status 1: KeyError: {k}") for k in range(2)]
    assert causes_of(report(*numbers, processes=2))[0].where == ("b",)
    said = "ended at its max_duration of 5 s: {}it hangs in `f()`"
    hang = [
        replace(failure(tag=f"D{k}"), outcome=Outcome.TIMEOUT, reason=said.format(""))
        for k in range(2)
    ]
    verdict = Verdict(Outcome.TIMEOUT, said.format("b.D0: "))
    (cause,) = causes_of(report(*hang, processes=2, b=verdict))
    assert (cause.where, cause.text) == (("b",), "it hangs in `f()` (max_duration of 5 s)")
    ranked = causes_of(report(replace(one, reason="rank 5: killed by SIGABRT", rank=5)))
    assert (ranked[0].where, ranked[0].text) == (("b (rank 5)",), "killed by SIGABRT")


def test_the_verdict_on_the_whole_knows_what_was_first() -> None:
    peer = failure(tag="0.node1", reason="rank 1: DistBackendError: Connection closed by peer")
    verdict = Verdict(Outcome.FAILED, "node2: rank 9: killed by SIGSEGV")
    (cause,) = causes_of(report(peer, b=verdict))
    assert cause.text == "node2: rank 9: killed by SIGSEGV"


def test_what_a_person_cancelled_has_no_cause() -> None:
    cancelled = replace(failure(), outcome=Outcome.CANCELLED)
    assert causes_of(report(cancelled)) == ()
