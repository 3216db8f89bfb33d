"""``milabench validate --rehearse``: plant faults, one at a time, and say which are found.

Each fault is a run of its own, of the benchmark that can show it, on another node each time. The
first runs have none, so that it is seen whether a node fails without a fault, and which defects can
be seen. What is slowed down is slowed by half as much again: what these runs promise is tested, on
quiet nodes with a small defect, and on noisy ones with a large one.
"""

import io
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import replace

from msgspec import Struct

from ..errors import SelectionError, count_text
from ..hazards import PLANT
from ..hostlist import hostlist
from ..options.suite import RunOptions, ValidateOptions
from ..render.blocks import Headline, TableBlock
from ..render.text import text_of
from ..report.assemble import report_of
from ..report.links import between_nodes, least_told
from ..report.model import Report, Row
from ..report.node_verdict import Word
from ..report.statistics.values import NAN, known, median
from ..report.validation.peers import judged
from ..results.read_state import read_header
from ..results.run_dir import RunDir, default_name
from ..table import Column, table_from
from . import final_report, run, setup

CHOSEN = ("select", "level", "resume", "detach", "until")  # by the rehearsal itself
CONTROL = "nothing"  # these runs have no fault
MARGIN = 1.5  # of the logarithm of what is left of a rate: other runs have other noise
MOST = 0.97  # slower, as a fraction: more takes too long


class Fault(Struct, frozen=True):
    """What is planted, and in which benchmark."""

    name: str
    text: str  # of ``MILABENCH_PLANT``, with {node} and {other}, ranks of nodes, and {size}
    benchmark: str  # several with commas
    least_nodes: int = 1
    on_gpus: bool = False


FAULTS = (
    Fault(CONTROL, CONTROL, "membw-triad,bits,pairs"),
    Fault("a slow device", "slow:{size:.4g}@{node}", "membw-triad", 3),
    Fault("a slow link", "delay_link:{size:.4g}@{node}..{other}", "pairs", 4),
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


class FaultTrials(Struct):
    """A row of the matrix: what was found where a fault was planted."""

    fault: Fault
    times: int = 0
    failed: int = 0
    named: int = 0
    missed: int = 0
    accused: int = 0  # nodes that fail without a fault
    nodes: set[str] = set()
    slower: float = NAN  # by how much at most, as a fraction
    findings: list[str] = []
    smallest: float = 0.0  # defect that would have been found where one was missed, as a fraction
    why_not: str = ""

    def add(self, report: Report, where: Collection[str], usual: Collection[object]) -> None:
        """Add a run with the fault on these nodes.

        It is found by a finding that names these nodes, or some of them, and no others, and is
        not among the ``usual`` ones, which are there without a fault.
        """
        failing = {each.node for each in report.verdicts if each.verdict is Word.FAIL}
        new = _findings(report).difference(usual)
        found = sorted(name for name, nodes in new if set(nodes).issubset(where))
        self.times += 1
        self.accused += len(failing.difference(where))
        self.nodes.update(where)
        self.findings += [name for name in found if name not in self.findings]
        if self.fault.name == CONTROL:
            return
        if not found:
            self.missed += 1
            missed = known(each.smallest for each in report.verdicts if each.node in where)
            self.smallest = max([self.smallest, *missed])
        elif failing.intersection(where):
            self.failed += 1
        else:
            self.named += 1


def _by(line: FaultTrials) -> str:
    unseen = f"a defect below {line.smallest:.0%} could not be seen" if line.smallest else ""
    return ", ".join(filter(None, (line.why_not, *line.findings, unseen)))


COLUMNS = (
    Column("planted", "", "fault.name"),
    Column("slower by", ".0%", "slower", unknown=""),
    Column("times", "d", "times"),
    Column("its node fails", "d", "failed"),
    Column("it is named", "d", "named"),
    Column("missed", "d", "missed"),
    Column("others fail", "d", "accused"),
    Column("where", "", lambda line: hostlist(line.nodes)),
    Column("by", "", _by, unknown=""),
)


def main(options: ValidateOptions) -> int:
    if given := [name for name in CHOSEN if getattr(options, name)]:
        raise SelectionError(f"--rehearse chooses what runs: leave out --{given[0]}")
    lines: list[FaultTrials] = []
    is_cancelled = False
    try:
        _rehearse(options, lines)
    except KeyboardInterrupt:
        is_cancelled = True
    sys.stdout.write(text_of(_blocks(lines), final_report.shown_width()))
    if is_cancelled:
        return final_report.CANCELLED
    is_diagonal = not any(line.missed or line.accused for line in lines)
    return final_report.SUCCEEDED if is_diagonal else final_report.FAILED


def _rehearse(options: ValidateOptions, lines: list[FaultTrials]) -> None:
    """Plant each fault as often as ``--repeat`` says, on one node after the other."""
    profile = setup.resolve_runner(options, system := setup.read_system_of(options))
    request = setup.node_request(options, system, profile)
    name, has_gpus = options.name or default_name(), True
    names = [host.name for host in request.hosts]  # in the order of their ranks
    usual: set[tuple[str, tuple[str, ...]]] = set()
    clean: list[Row] = []
    for number, fault in enumerate(FAULTS):
        said = f"rehearsal {name}: {fault.name}, {number + 1} of {len(FAULTS)}"
        print(said, file=sys.stderr, flush=True)
        line = FaultTrials(fault)
        lines.append(line)
        if fault.on_gpus and not has_gpus:
            line.why_not = "not planted: no GPU"
            continue
        if request.nodes < fault.least_nodes:
            line.why_not = f"not planted: it needs {fault.least_nodes} nodes"
            continue
        for repeat in range(options.repeat or 1):
            node = (number + repeat) % request.nodes
            ends = {"node": node, "other": (node + 1) % request.nodes}
            planted = [end for key, end in ends.items() if f"{{{key}}}" in fault.text]
            where = {names[end] for end in planted if end < len(names)}
            lower, size = _size([row for row in clean if row.name == fault.benchmark], where)
            text = fault.text.format(**ends, size=size)
            try:
                folder = _run(options, fault, text, f"{name}.{number}.{repeat}")
            except SelectionError as error:
                if fault.name == CONTROL:
                    raise
                line.why_not = f"not planted: {error}"
                break
            report = report_of([folder.path])
            line.add(report, where, usual)
            if "{size" in fault.text:
                line.slower = max(lower, line.slower)  # of NaN the first is the largest
            if fault.name == CONTROL:
                clean += report.rows
                usual |= _findings(report)
                has_gpus = read_header(folder).machine["accelerators"]["arch"] != "cpu"
                names = names or [each.node for each in report.verdicts]


def _size(rows: Sequence[Row], nodes: Collection[str]) -> tuple[float, float]:
    """By how much a device, or the links between nodes, are slower, and what is planted for it.

    Args:
        rows: of the benchmark, without a fault.
        nodes: where it is planted.

    Returns:
        a fraction; a share of a step, or milliseconds of a message.
    """
    of_links = [least_told(kind, nodes) for kind in map(between_nodes, rows) if kind]
    seen = of_links or known(each.smallest for row in rows for each in judged(row))
    unit = 1.0
    if of_links:
        unit = median(
            pair["bytes"] / 1e6 / pair["best_gb_s"]
            for row in rows
            for pair in row.tables.get("pair", ())
            if pair["ways"] == 1
        )
    lower = min(1 - (1 - max(seen, default=1.0)) ** MARGIN, MOST)
    return lower, unit * lower / (1 - lower)


def _run(options: ValidateOptions, fault: Fault, text: str, name: str) -> RunDir:
    asked: RunOptions = replace(
        options.of_run(),
        select=tuple(fault.benchmark.split(",")),
        override=(*options.override, f"*.env.{PLANT}={text}"),
        name=name,
        repeat=None,
        quiet=True,
    )
    with redirect_stdout(io.StringIO()):
        code = run.main(asked)
    if code == final_report.CANCELLED:
        raise KeyboardInterrupt
    return RunDir(setup.base_folder(options) / "runs" / name)


def _findings(report: Report) -> set[tuple[str, tuple[str, ...]]]:
    """Their names, and the nodes that they name."""
    return {(each.name, each.nodes) for each in report.findings if each.nodes}


def _blocks(lines: Sequence[FaultTrials]) -> Iterator[Headline | TableBlock]:
    found = sum(line.failed + line.named for line in lines)
    planted = found + sum(line.missed for line in lines)
    accused = count_text(sum(line.accused for line in lines), "node")
    said = f"{found} of {count_text(planted, 'planted fault')} found, {accused} accused without one"
    yield Headline("REHEARSAL", said)
    yield TableBlock(table_from(COLUMNS, lines))
