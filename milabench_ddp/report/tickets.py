"""What a run tells of a node that failed a validation: a ticket for its vendor, and numbers."""

import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

from ..codec import encode, plain
from ..files import read_bytes
from ..render.blocks import Block, Bullet, Caption, Code, Fact, Headline, Line, Section, TableBlock
from ..render.markdown import markdown_of
from ..render.text import text_of
from ..results.records import Record, Run, is_finite, mapping_or_empty
from ..results.run_dir import RunDir
from ..table import Column, table_from
from .finding import Finding
from .grouping import grouped
from .model import Report
from .node_verdict import NodeVerdict, Word

_TAIL = 1 << 15  # bytes of the end of an output
_FILES = 16  # of them
_DEVICES = (
    Column("GPU"), Column("failed"), Column("product"), Column("serial"), Column("slot"),
    Column("bus_id"), Column("vbios"), Column("uuid"),
)  # fmt: skip


def failing(report: Report) -> dict[str, list[Finding]]:
    """The findings by which each node fails, by its name, which is empty for the only one."""
    return grouped((node, each) for each in report.findings if each.fails for node in each.nodes)


def evidence_of(node: str, name: str, report: Report, run: Run) -> dict[str, str]:
    """What the run has of a node that fails, as files by their names.

    Args:
        node: as findings name it.
        name: what it is called.
    """
    records, place = [each for each in run.records if each.node == node], RunDir(run.path)
    blocks = list(_ticket(node, name, report, records, run))
    files = {
        "ticket.md": markdown_of(blocks),
        "summary.txt": text_of(blocks),
        "findings.json": encode(plain(failing(report)[node])).decode() + "\n",
    }
    outputs = [place.stream(each.tag, kind) for each in records for kind in ("stacks", "stderr")]
    kept = [path for path in (place.node_log(name), *outputs) if path.is_file()][:_FILES]
    paths = {f"output/{path.name}": path for path in kept}
    paths |= {f"commands/{each.name}.sh": place.script(each.name) for each in records}
    for file, path in paths.items():
        with suppress(OSError):
            files[file] = read_bytes(path)[-_TAIL:].decode(errors="replace")
    return files


def _ticket(
    node: str, name: str, report: Report, records: Sequence[Record], run: Run
) -> Iterator[Block]:
    findings = failing(report)[node]
    others = [each for each in report.findings if node in each.nodes and each not in findings]
    first = records[0] if records else Record(run.path)
    machine = mapping_or_empty(first.meta.get("machine"))
    verdict = next((it for it in report.verdicts if it.node == name), NodeVerdict(name, Word.FAIL))
    below = f"{verdict.lower:.1%} below the median of its peers, {verdict.peers:.5g}"
    number = f"{verdict.value:.5g} {verdict.unit} in {verdict.benchmark}, {below}"
    facts = {
        "Node": name,
        "Machine": f"{machine.get('sys_vendor', '')} {machine.get('product_name', '')}".strip(),
        "Serial": machine.get("product_serial") or "not known",
        "Driver": first.accelerators.get("driver"),
        "Action": verdict.action or next((it.action for it in findings if it.action), ""),
        "Number": number if verdict.benchmark else "",
        "Measured": _when(records),
        "Run": run.path,
    }
    yield Headline(f"{name} failed its validation", findings[0].sentence)
    yield Section([Fact(key, (str(value),)) for key, value in facts.items() if value])
    said = " ".join(f"{each.sentence} {each.place} {each.evidence}" for each in findings)
    rows = {}
    for record in records:
        for index in mapping_or_empty(record.accelerators.get("gpus")):
            gpu = record.gpu(index)
            is_named = gpu.get("uuid") and str(gpu["uuid"]) in said
            row = {**gpu, **mapping_or_empty(gpu.get("pcie")), "GPU": index}
            rows[index] = {**row, "failed": "yes" if is_named else ""}
    if rows:
        yield Section([Caption("Its devices"), TableBlock(table_from(_DEVICES, rows.values()))])
    yield Section([Caption("What failed"), *_reasons(findings)])
    if others:
        yield Section([Caption("Also seen"), *(Bullet(each.sentence) for each in others)])
    command = run.state.header.command if run.state else []
    again = "The scripts in the folder commands of the archive repeat each benchmark."
    yield Section([Caption("How to repeat it"), Code((shlex.join(command),)), Line(again)])


def _reasons(findings: Sequence[Finding]) -> Iterator[Block]:
    for each in findings:
        yield Bullet(each.sentence)
        for key, value in each.evidence.items():
            match value:
                case float():
                    said = _moment(value) if key == "time" else f"{value:.6g}"
                case list() | tuple():
                    said = ", ".join(map(str, value))
                case _:
                    said = "" if value is None else str(value)
            if said:
                yield Fact(f"{key}:", (said,))


def _when(records: Sequence[Record]) -> str:
    ends = [mapping_or_empty(part) for each in records for part in (each.start, each.end)]
    known = [end["time"] for end in ends if is_finite(end.get("time"))]
    return f"{_moment(min(known))} to {_moment(max(known))}" if known else "never"


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
