"""Why benchmarks failed: one cause for all failures that are alike, and what to do about it."""

import re
import shlex
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ..codec import about
from ..errors import shortened
from ..events import NAN_LOSS, NO_RATE, NO_USABLE_RATE, OUT_OF_MEMORY, Outcome
from ..grouping import grouped
from ..results.records import Payload, mapping_or_empty
from .failures import NO_RECORDS, CellState, decisive_failure, is_of, state_of_failure
from .finding import filled
from .model import Failure, Report, Row
from .output import BAR

LONGEST = 160  # characters of a cause
LAST_LINES = 5  # of an output without an exception: one of them may say why it ended
_NUMBER = re.compile(r"0x[0-9a-fA-F]+|\d+")
_BATCH = re.compile(r"-{0,2}(?:[a-z]+[-_])*batch[-_]?size")
_NO_WORDS = re.compile(r"[\s^~|+=*_-]*")  # a line without any
_FROM = "The above exception was the direct cause of the following exception:"
_SENTENCE_END = re.compile(r"(?<=[.!]) (?=[A-Z])")
_BEFORE = re.compile(r"^(?:rank \d+: )?(?:exit status \d+: )?")  # an exception


class Cause(Struct, frozen=True):
    """What failures have in common."""

    text: Annotated[str, about("what went wrong")]
    advice: Annotated[str, about("what to do about it, or empty")]
    benchmarks: Annotated[tuple[str, ...], about("all that it hit")]
    where: Annotated[tuple[str, ...], about("the same, with the process or the rank if it is one")]
    failure: Annotated[Failure, about("the first of them")]


class _Kind(NamedTuple):
    pattern: str  # of the exception, of the reason, or of a line that was printed last
    text: str  # with the groups of the pattern; empty: as it was printed
    advice: str = ""


# fmt: off
_KINDS = [
    _Kind(r"^too few nodes: \d+ of \d+ can be used: (?P<problems>.*)", "{problems}"),
    _Kind(r"this host was out of memory|oom[ _-]?kill|"
          r"\b(?:DefaultCPUAllocator|MemoryError|std::bad_alloc)\b",
          "this host ran out of memory",
          "start fewer ranks or loader workers on a node, or ask Slurm for more (--mem)"),
    _Kind(r"out of memory.* capacity of (?P<size>\S+ \S+) .*\bProcess (?P<pid>\d+) has "
          r"(?P<held>\S+ GiB)",
          "out of GPU memory ({size}), of which process {pid} holds {held}",
          "see whose it is (`ps -fp {pid}`), and end it; else a smaller batch{smaller}"),
    _Kind(rf"(?:{OUT_OF_MEMORY.pattern})(?:.* capacity of (?P<size>\S+ \S+)"
          r"(?:.* memory (?P<peak>\S+ \S+) is allocated)?|"
          r".*; (?P<total>\S+ \S+) total capacity)?",
          "out of GPU memory[ ({size})][ ({total})][: {peak} in tensors]",
          "a smaller batch{smaller}"),
    _Kind(r"No module named '?(?P<module>(?P<package>\w+)\.[\w.]+)", "no module {module}",
          "the installed {package} lacks it: install a version that has it"),
    _Kind(r"No module named '?(?P<module>\w+)", "no module {module}",
          "`pip install {module}`, in the environment of the program"),
    _Kind(r"(?P<file>(?:[^\s:]*/)?(?P<name>[^\s:/]+)): Permission denied$",
          "not executable: {name}", "`chmod +x {file}`"),
    _Kind(r"Permission denied: '(?P<path>[^']+)'", "permission denied: {path}",
          "see who may read, write and execute it (`ls -l`)"),
    _Kind(r"(?P<name>\S+): command not found$|\bsh: \d+: (?P<program>\S+): not found$|"
          r"failed to execute (?P<file>\S+): No such",
          "no such program: [{name}][{program}][{file}]", "install it, or add its folder to PATH"),
    _Kind(r"^(?P<program>\S+): error: (?P<what>.*)", "{program}: {what}",
          "mend `argv`; `{program} --help` tells its options"),
    _Kind(r"No such file or directory: '(?P<path>[^']+)'", "no such file: {path}",
          "make it, or mend its path in `argv`"),
    _Kind(r"no NVIDIA driver|No CUDA GPUs|not compiled with CUDA|CUDA driver version|"
          r"no CUDA-capable",
          "", "see whether `nvidia-smi` answers, and whether its torch is built for CUDA"),
    _Kind(r"failed to connect to any network address of \(?(?P<host>[^,)\s]+), (?P<port>\d+)|"
          r"Connection refused", "[no connection to {host}, port {port}: refused, or in vain]",
          "see whether what it connects to runs (rank 0), and whether a firewall is between"),
    _Kind(r"(?:cannot write (?P<path>\S+): )?No space left on device", "no space left on a disk",
          "`df -h[ {path}]`, then remove old runs"),
    _Kind(r"GatedRepo|401 Client Error", "", "set HF_TOKEN, of an account that may read it"),
    _Kind(r"^ended at its (?P<deadline>max_duration of [\d.]+ s): (?P<what>.*\bhangs in .*)",
          "{what} ({deadline})"),
    _Kind(r"killed by SIGKILL", "", "see in `dmesg` whether the kernel was out of memory"),
    _Kind(r"killed by SIG(?:SEGV|ABRT|BUS|ILL|FPE)", "",
          "`env: {{PYTHONFAULTHANDLER: 1}}` shows where; "
          "suspect what was built for another version"),
    _Kind(f"{NO_USABLE_RATE}: (?P<why>.*)", "it told no rate that counts: {why}",
          'a rate is a finite number above 0, of `"task": "train"`, and not of the warm-up'),
    _Kind(NO_RATE, "it reported no rate that can be used",
          "let it write metric lines; `milabench new` writes an example"),
    _Kind(NO_RECORDS, "", "run it again"),
    _Kind(NAN_LOSS, "", "see its data, its precision and its learning rate"),
]
# fmt: on


def causes_of(report: Report, *, cancelled: bool = False) -> tuple[Cause, ...]:
    """The causes of all failures, or of what was cancelled; what hit most benchmarks first."""
    failures = grouped(((each.benchmark, each.folder), each) for each in report.failures)
    rows = {row.name: row for row in report.rows}
    found: dict[str, Cause] = {}
    for (name, folder), own in failures.items():
        runs = [run for run in report.runs if run.path == folder]
        failure = decisive_failure(name, own, runs)
        if failure is None or (failure.outcome == Outcome.CANCELLED) != cancelled:
            continue
        reason = _NUMBER.sub("0", _untagged(failure))
        alike = [each for each in own if _NUMBER.sub("0", _untagged(each)) == reason]
        text, advice = cause_of(failure, row.config if (row := rows.get(name)) else {})
        key, where = _NUMBER.sub("0", text), _where(failure, alike, row)
        known = found.get(key, Cause(text, advice, (), (), failure))
        names = tuple(dict.fromkeys((*known.benchmarks, name)))
        wheres = tuple(dict.fromkeys((*known.where, where)))
        found[key] = replace(known, benchmarks=names, where=wheres)
    return tuple(sorted(found.values(), key=lambda cause: -len(cause.benchmarks)))


def _untagged(failure: Failure) -> str:
    return failure.reason.replace(f"{failure.tag}: ", "") if failure.tag else failure.reason


def cause_of(failure: Failure, config: Payload) -> tuple[str, str]:
    """What went wrong, in one line, and what to do about it."""
    failure = replace(failure, reason=_untagged(failure))
    state = state_of_failure(failure)
    lines = [line for line in failure.lines if is_of(failure.rank, line)]
    shown = [line.strip() for line in lines if not _NO_WORDS.fullmatch(line)]
    shown = [line for line in shown if not BAR.fullmatch(line)] or shown
    is_told = state.word == "Traceback" or failure.outcome != Outcome.FAILED
    raised_from = [before for before, line in pairwise(shown) if line.endswith(_FROM)]
    lines = raised_from[::-1] if is_told else shown[: -LAST_LINES - 1 : -1]
    for text in (state.reason, failure.reason, *lines):
        for kind in _KINDS:
            if found := re.search(kind.pattern, text, re.IGNORECASE):
                known = {name: word for name, word in found.groupdict().items() if word}
                quoted = {name: shlex.quote(word) for name, word in known.items()}  # to be pasted
                quoted["smaller"] = _half_batch(failure.benchmark, config)
                return filled(kind.text, known) or _plain(text), filled(kind.advice, quoted)
    return _unknown(failure, state, shown), ""


def _half_batch(name: str, config: Payload) -> str:
    for option, size in mapping_or_empty(config.get("argv")).items():
        if _BATCH.fullmatch(option) and str(size).isdecimal() and int(size) > 1:
            half = shlex.quote(f"{name}.argv.{option}={int(size) // 2}")
            return f", such as half of it: --override {half}"
    return ""


def _plain(text: str) -> str:
    return shortened(_SENTENCE_END.split(_BEFORE.sub("", text))[0], LONGEST)


def _unknown(failure: Failure, state: CellState, shown: Sequence[str]) -> str:
    if state.word == "Traceback":
        return _plain(state.reason)
    reason = failure.reason or str(failure.outcome)
    if failure.outcome in (Outcome.LOST, Outcome.NOT_BEGUN):
        return f"{failure.outcome}: {reason}"
    if failure.rank is not None:
        reason = reason.removeprefix(f"rank {failure.rank}: ")
    if not re.fullmatch(r"exit status -?\d+", reason):
        return reason
    last = f"and printed last: {shown[-1]}" if shown else "and it printed nothing"
    return shortened(f"{reason}, {last}", LONGEST)


def _where(failure: Failure, alike: Sequence[Failure], row: Row | None) -> str:
    where, of = failure.benchmark, row.n if row else 1
    if failure.tag is not None and len(alike) < of:
        where = failure.tag if len(alike) <= 1 else f"{where} ({len(alike)} of {of:g} processes)"
    return where if failure.rank is None else f"{where} (rank {failure.rank})"
