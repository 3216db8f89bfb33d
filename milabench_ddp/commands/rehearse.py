"""``milabench validate --rehearse``: plant faults, one at a time, and say which are found.

Each fault is a run of its own, of the benchmarks that can show it, on another node each time. The
first runs have none, so that it is seen whether a node fails without a fault.
"""

import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import fields

from msgspec import Struct, field

from ..dispatch.agent_plants import PLANT
from ..errors import SelectionError, count_text
from ..hostlist import hostlist, natural
from ..options.suite import MeasureOptions, RunOptions, ValidateOptions
from ..render.blocks import Headline, TableBlock
from ..render.text import text_of
from ..report.assemble import report_of
from ..report.findings.planted import PLANTED
from ..report.node_verdict import Word
from ..results.read_state import read_header
from ..results.run_dir import RunDir, default_name
from ..table import Column, table_from
from . import final_report, run, setup

ALL_WENT_WELL, SOME_DID_NOT = 0, 1
CONTROL = "nothing"  # a plant that is none


class Fault(Struct, frozen=True):
    """What is planted, and in which benchmarks."""

    name: str
    text: str  # of ``MILABENCH_PLANT``, with {node} and {other}, which are ranks of nodes
    benchmarks: str
    least_nodes: int = 1
    on_gpus: bool = False


FAULTS = (
    Fault(CONTROL, CONTROL, "flops-bf16"),
    Fault("a slow device", "slow:0.5@{node}", "flops-bf16"),
    Fault("a slow link", "delay_link:50@{node}..{other}", "pairs", 4),
    Fault("a bit that flips once", "flip:7@{node}", "bits"),
    Fault("a bit that is always wrong", "flip_always:7@{node}", "bits", 3),
    Fault("a hang", "hang:20@{node}", "membw-triad"),
    Fault("an early end", "exit:20@{node}", "membw-triad"),
    Fault("a loss of NaN", "nan:20@{node}", "bits"),
    Fault("a full disk", "disk:20@{node}", "membw-triad"),
    Fault("a lost node", "kill:8@{node}", "flops-bf16", 2),
    Fault("another variable", "env:NCCL_DEBUG=INFO@{node}", "membw-triad", 3),
    Fault("a hidden GPU", "env:CUDA_VISIBLE_DEVICES=0@{node}", "membw-triad", 2, on_gpus=True),
)


class Trial(Struct, frozen=True):
    """A fault that was planted once, and what was found."""

    where: tuple[str, ...] = ()  # the nodes
    failing: frozenset[str] = frozenset()  # nodes
    found_by: tuple[str, ...] = ()  # findings that name these nodes and no others


class Line(Struct, frozen=True):
    """A row of the matrix: all trials of a fault."""

    fault: Fault
    trials: Sequence[Trial] = field(default_factory=list)
    why_not: str = ""

    @property
    def failed(self) -> int:
        return sum(bool(each.failing & {*each.where}) for each in self.trials)

    @property
    def named(self) -> int:
        found = [bool(each.found_by) or bool(each.failing & {*each.where}) for each in self.trials]
        return sum(found) - self.failed

    @property
    def missed(self) -> int:
        return 0 if self.fault.name == CONTROL else len(self.trials) - self.failed - self.named

    @property
    def accused(self) -> int:
        """How many nodes fail without a fault."""
        return sum(len(each.failing - {*each.where}) for each in self.trials)


COLUMNS = (
    Column("planted", "", lambda it: it.fault.name),
    Column("times", "d", lambda it: len(it.trials)),
    Column("its node fails", "d", "failed"),
    Column("it is named", "d", "named"),
    Column("missed", "d", "missed"),
    Column("others fail", "d", "accused"),
    Column("where", "", lambda it: hostlist({name for each in it.trials for name in each.where})),
    Column("by", "", lambda it: it.why_not or ", ".join(_all_of(it.trials)), unknown=""),
)


def main(options: ValidateOptions) -> int:
    refused = ("select", "level", "resume", "detach", "until")
    if given := [name for name in refused if getattr(options, name)]:
        raise SelectionError(f"--rehearse chooses what runs: leave out --{given[0]}")
    system = setup.read_system_of(options)
    profile = setup.resolve_runner(options, system)
    nodes = setup.node_request(options, system, profile).nodes
    name = options.name or default_name()
    lines: list[Line] = []
    for number, fault in enumerate(FAULTS):
        said = f"rehearsal {name}: {fault.name}, {number + 1} of {len(FAULTS)}"
        print(said, file=sys.stderr, flush=True)
        lines.append(_line(options, fault, number, nodes, f"{name}.{number}"))
    sys.stdout.write(text_of(_blocks(lines), final_report.shown_width(sys.stdout)))
    went_well = not any(each.missed or each.accused for each in lines)
    return ALL_WENT_WELL if went_well else SOME_DID_NOT


def _line(options: ValidateOptions, fault: Fault, number: int, nodes: int, name: str) -> Line:
    """Plant a fault as often as ``--repeat`` says, on one node after the other."""
    if nodes < fault.least_nodes:
        return Line(fault, why_not=f"not planted: it needs {fault.least_nodes} nodes")
    trials: list[Trial] = []
    for repeat in range(options.repeat or 1):
        node = (number + repeat) % nodes
        ends = (node, (node + 1) % nodes) if "{other}" in fault.text else (node,)
        text = fault.text.format(node=node, other=ends[-1])
        asked = {each.name: getattr(options, each.name) for each in fields(MeasureOptions)}
        asked |= {
            "config": options.config or "validate",
            "name": f"{name}.{repeat}",
            "select": (fault.benchmarks,),
            "override": (*options.override, f"*.env.{PLANT}={text}"),
            "repeat": None,
            "quiet": True,
        }
        try:
            with redirect_stdout(io.StringIO()):
                code = run.main(RunOptions(**asked))
        except SelectionError as error:
            return Line(fault, trials, f"not planted: {error}")
        if code == final_report.CANCELLED:
            raise KeyboardInterrupt
        folder = RunDir(setup.base_folder(options) / "runs" / f"{name}.{repeat}")
        if fault.on_gpus and read_header(folder).machine["accelerators"]["arch"] == "cpu":
            return Line(fault, why_not="not planted: no GPU")
        trials.append(_trial(folder, () if fault.name == CONTROL else ends))
    return Line(fault, trials)


def _trial(place: RunDir, ends: Sequence[int]) -> Trial:
    report = report_of([place.path])
    names = sorted((each.node for each in report.verdicts), key=natural)
    where = tuple(names[end] for end in ends if end < len(names))
    failing = {each.node for each in report.verdicts if each.verdict is Word.FAIL}
    others = [each for each in report.findings if each.name != PLANTED]
    found = [each.name for each in others if each.nodes and {*each.nodes} <= {*where}]
    return Trial(where, frozenset(failing), tuple(dict.fromkeys(found)))


def _all_of(trials: Iterable[Trial]) -> list[str]:
    return list(dict.fromkeys(name for each in trials for name in each.found_by))


def _blocks(lines: Sequence[Line]) -> Iterator[Headline | TableBlock]:
    trials = sum(len(each.trials) for each in lines if each.fault.name != CONTROL)
    found = sum(each.failed + each.named for each in lines)
    accused = sum(each.accused for each in lines)
    said = f"{found} of {count_text(trials, 'planted fault')} found, "
    yield Headline("REHEARSAL", said + f"{count_text(accused, 'node')} accused without a fault")
    yield TableBlock(table_from(COLUMNS, lines, ""))
