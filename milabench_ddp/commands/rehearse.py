"""``milabench validate --rehearse``: plant faults, one at a time, and say which are found.

Each fault is a run of its own, of the benchmark that can show it, on another node each time. The
first runs have none, so that it is seen whether a node fails without a fault.
"""

import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import fields

from msgspec import Struct
from msgspec.structs import replace

from ..dispatch.node_request import NodeRequest
from ..errors import SelectionError, count_text
from ..hazards import PLANT
from ..hostlist import hostlist, natural
from ..options.suite import MeasureOptions, RunOptions, ValidateOptions
from ..render.blocks import Headline, TableBlock
from ..render.text import text_of
from ..report.assemble import report_of
from ..report.node_verdict import Word
from ..results.read_state import read_header
from ..results.run_dir import RunDir, default_name
from ..table import Column, table_from
from . import final_report, run, setup

CHOSEN = ("select", "level", "resume", "detach", "until")  # by the rehearsal itself
CONTROL = "nothing"  # a plant that is none


class Fault(Struct, frozen=True):
    """What is planted, and in which benchmark."""

    name: str
    text: str  # of ``MILABENCH_PLANT``, with {node} and {other}, which are ranks of nodes
    benchmark: str
    least_nodes: int = 1
    on_gpus: bool = False


FAULTS = (
    Fault(CONTROL, CONTROL, "membw-triad"),
    Fault("a slow device", "slow:0.5@{node}", "membw-triad", 3),
    Fault("a slow link", "delay_link:50@{node}..{other}", "pairs", 4),
    Fault("a bit that flips once", "flip:7@{node}", "bits"),
    Fault("a bit that is always wrong", "flip_always:7@{node}", "bits", 3),
    Fault("a hang", "hang:20@{node}", "membw-triad", 2),
    Fault("an early end", "exit:20@{node}", "membw-triad", 2),
    Fault("a loss of NaN", "nan:20@{node}", "bits", 2),
    Fault("a full disk", "disk:20@{node}", "membw-triad", 2),
    Fault("a lost node", "kill:8@{node}", "flops-bf16", 2),
    Fault("another variable", "env:NCCL_DEBUG=INFO@{node}", "membw-triad", 3),
    Fault("a hidden GPU", "env:CUDA_VISIBLE_DEVICES=0@{node}", "membw-triad", 2, on_gpus=True),
)


class Trial(Struct, frozen=True):
    """A fault that was planted once, and what was found."""

    where: frozenset[str]  # the nodes
    failing: frozenset[str]  # nodes
    findings: frozenset[tuple[str, tuple[str, ...]]]  # their names, and the nodes that they name
    before: frozenset[tuple[str, tuple[str, ...]]] = frozenset()  # those without a fault

    @property
    def found_by(self) -> list[str]:
        """The findings that name these nodes and no others, and are not there without a fault."""
        new = sorted(self.findings - self.before)
        return [name for name, nodes in new if self.where.issuperset(nodes)]

    @property
    def fails(self) -> bool:
        return bool(self.found_by and self.failing & self.where)


class FaultTrials(Struct, frozen=True):
    """A row of the matrix: all trials of a fault."""

    fault: Fault
    trials: Sequence[Trial] = ()
    why_not: str = ""

    @property
    def failed(self) -> int:
        return sum(each.fails for each in self.trials)

    @property
    def named(self) -> int:
        return sum(bool(each.found_by) and not each.fails for each in self.trials)

    @property
    def missed(self) -> int:
        planted = len(self.trials) if self.fault.name != CONTROL else 0
        return planted - self.failed - self.named

    @property
    def accused(self) -> int:
        """How many nodes fail without a fault."""
        return sum(len(each.failing - each.where) for each in self.trials)

    @property
    def where(self) -> str:
        return hostlist(frozenset[str]().union(*(each.where for each in self.trials)))

    @property
    def said(self) -> str:
        names = dict.fromkeys(name for each in self.trials for name in each.found_by)
        return self.why_not or ", ".join(names)


COLUMNS = (
    Column("planted", "", "fault.name"),
    Column("times", "d", lambda line: len(line.trials)),
    Column("its node fails", "d", "failed"),
    Column("it is named", "d", "named"),
    Column("missed", "d", "missed"),
    Column("others fail", "d", "accused"),
    Column("where", "", "where"),
    Column("by", "", "said", unknown=""),
)


def main(options: ValidateOptions) -> int:
    if given := [name for name in CHOSEN if getattr(options, name)]:
        raise SelectionError(f"--rehearse chooses what runs: leave out --{given[0]}")
    profile = setup.resolve_runner(options, system := setup.read_system_of(options))
    request = setup.node_request(options, system, profile)
    name, lines = options.name or default_name(), []
    is_cancelled, before = False, frozenset[tuple[str, tuple[str, ...]]]()
    try:
        for number, fault in enumerate(FAULTS):
            said = f"rehearsal {name}: {fault.name}, {number + 1} of {len(FAULTS)}"
            print(said, file=sys.stderr, flush=True)
            made = _trials_of(options, fault, number, request, f"{name}.{number}")
            if fault.name == CONTROL:
                before = before.union(*(each.findings for each in made.trials))
            trials = [replace(each, before=before) for each in made.trials]
            lines.append(replace(made, trials=trials))
    except KeyboardInterrupt:
        is_cancelled = True
    sys.stdout.write(text_of(_blocks(lines), final_report.shown_width(sys.stdout)))
    if is_cancelled:
        return final_report.CANCELLED
    is_diagonal = not any(line.missed or line.accused for line in lines)
    return final_report.SUCCEEDED if is_diagonal else final_report.FAILED


def _trials_of(
    options: ValidateOptions, fault: Fault, number: int, request: NodeRequest, name: str
) -> FaultTrials:
    """Plant a fault as often as ``--repeat`` says, on one node after the other."""
    nodes = request.nodes
    hosts = [host.name for host in sorted(request.hosts, key=lambda host: not host.main)]
    if nodes < fault.least_nodes:
        return FaultTrials(fault, why_not=f"not planted: it needs {fault.least_nodes} nodes")
    trials: list[Trial] = []
    for repeat in range(options.repeat or 1):
        first = (number + repeat) % nodes
        ends = (first, (first + 1) % nodes) if "{other}" in fault.text else (first,)
        text = fault.text.format(node=first, other=ends[-1])
        asked = {each.name: getattr(options, each.name) for each in fields(MeasureOptions)}
        asked |= {
            "select": (fault.benchmark,),
            "name": f"{name}.{repeat}",
            "repeat": None,
            "quiet": True,
        }
        asked["override"] = *options.override, f"*.env.{PLANT}={text}"
        try:
            with redirect_stdout(io.StringIO()):
                code = run.main(RunOptions(**asked))
        except SelectionError as error:
            if fault.name == CONTROL:
                raise
            return FaultTrials(fault, trials, f"not planted: {error}")
        if code == final_report.CANCELLED:
            raise KeyboardInterrupt
        folder = RunDir(setup.base_folder(options) / "runs" / f"{name}.{repeat}")
        if fault.on_gpus and read_header(folder).machine["accelerators"]["arch"] == "cpu":
            return FaultTrials(fault, why_not="not planted: no GPU")
        trials.append(_trial(folder, ends if fault.name != CONTROL else (), hosts))
    return FaultTrials(fault, trials)


def _trial(folder: RunDir, ends: Sequence[int], hosts: Sequence[str]) -> Trial:
    """What the run tells; ``hosts`` are in the order of their ranks, as others are by name."""
    report = report_of([folder.path])
    names = hosts or sorted((each.node for each in report.verdicts), key=natural)
    where = frozenset(names[end] for end in ends if end < len(names))
    failing = frozenset(each.node for each in report.verdicts if each.verdict is Word.FAIL)
    found = {(each.name, each.nodes) for each in report.findings if each.nodes}
    return Trial(where, failing, frozenset(found))


def _blocks(lines: Sequence[FaultTrials]) -> Iterator[Headline | TableBlock]:
    planted = sum(len(line.trials) for line in lines if line.fault.name != CONTROL)
    found = sum(line.failed + line.named for line in lines)
    accused = count_text(sum(line.accused for line in lines), "node")
    said = f"{found} of {count_text(planted, 'planted fault')} found, {accused} accused without one"
    yield Headline("REHEARSAL", said)
    yield TableBlock(table_from(COLUMNS, lines))
