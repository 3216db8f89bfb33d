"""What a run tells of a node that failed a validation: a ticket for its vendor, and its files."""

import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

from ..files import read_end
from ..render.blocks import Block, Bullet, Caption, Code, Fact, Headline, Line, Section, TableBlock
from ..render.markdown import markdown_of
from ..results.records import Record, Run, mapping_or_empty
from ..results.run_dir import RunDir
from ..table import Column, table_from
from .node_verdict import NodeVerdict

_TAIL = 1 << 15  # bytes of the end of a file of the run
_DEVICES = (
    Column("GPU"), Column("product"), Column("serial"), Column("bus_id"), Column("vbios"),
    Column("uuid"),
)  # fmt: skip


def evidence_of(verdict: NodeVerdict, run: Run) -> dict[str, str]:
    """What the run has of a node that fails, as files by their names."""
    # on a single host, records name no node
    records = [each for each in run.records if each.node in ("", verdict.node)]
    files = {"ticket.md": markdown_of(list(_ticket(verdict, records, run)))}
    place = RunDir(run.path)
    paths = [place.node_log(verdict.node)]
    for each in records:
        paths.append(place.script(each.name))
        paths += [place.stream(each.tag, kind) for kind in ("stacks", "stderr")]
    for path in paths:
        with suppress(OSError):  # only what hung has stacks, and a single host has no log
            text = read_end(path, _TAIL).decode(errors="replace")
            files[f"run/{path.relative_to(run.path)}"] = text
    return files


def _ticket(verdict: NodeVerdict, records: Sequence[Record], run: Run) -> Iterator[Block]:
    below = f"{verdict.lower:.1%} below the median of its peers, {verdict.peers:.5g}"
    number = f"{verdict.value:.5g} {verdict.unit} in {verdict.benchmark}, {below}"
    rows, facts = {}, {"Node": verdict.node}
    for record in records:
        facts["Driver"] = str(record.accelerators.get("driver") or "")
        for index, gpu in record.gpus.items():
            rows[index] = {"GPU": index, **gpu, **mapping_or_empty(gpu.get("pcie"))}
    facts |= {"Action": verdict.action, "Number": number if verdict.benchmark else ""}
    yield Headline(f"{verdict.node} failed its validation")
    yield Section([Fact(key, (value,)) for key, value in facts.items() if value])
    if rows:
        yield Section([Caption("Its devices"), TableBlock(table_from(_DEVICES, rows.values()))])
    yield Line("The files machine.txt of the archive have the serials and slots of the machine.")
    yield Section([Caption("What failed"), *map(Bullet, verdict.reasons)])
    if run.state is not None:
        header = run.state.header
        began = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(header.created))
        again = Code((shlex.join(header.command),))
        yield Section([Caption("How to repeat it"), again, Line(f"It began at {began}.")])
