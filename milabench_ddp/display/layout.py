"""What the live view shows on a terminal of some width and height, as lines.

The first line is the sum of all, and is always there. What runs comes next, then the devices of
what runs, the last problems, and what waits: as much of each as there is room for.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..errors import shown_names
from ..events import Outcome
from ..hidden import SECRETS
from ..hostlist import natural, shown_nodes
from ..samples import DeviceSample
from ..table import Column, Table, duration_text, text_lines, without_unknown
from ..visible import in_line
from .run_progress import RunningBenchmark, RunProgress

COLUMNS = (
    Column("benchmark"),
    Column("launch"),
    Column("phase"),
    Column("rate", right=True),
    Column("loss", right=True),
    Column("elapsed", right=True),
    Column("nodes"),
)
LEFT_OUT = ("nodes", "loss", "launch", "phase")  # where it is too narrow, the first one first
LEAST_NAME = 20  # characters of a name that are shown, or a third of the width
PROBLEMS = 3  # the last ones
OF_DEVICES = 4  # lines for the devices of a benchmark
LOW = 8  # lines: with fewer, only what runs is shown below the sum


class StyledLine(NamedTuple):
    """A line, and rich's style of it."""

    text: str
    style: str = ""


def layout(known: RunProgress, width: int, height: int) -> list[StyledLine]:
    """The lines that fit a terminal; the cursor has a line of its own below them."""
    room = max(1, height - 1)
    below: list[StyledLine] = []
    if room >= LOW:
        for problem in known.problems[-PROBLEMS:]:
            is_warning = problem.startswith(("warning", Outcome.TIMEOUT))
            below.append(StyledLine(problem, "yellow" if is_warning else "red"))
        if known.waiting:
            below.append(StyledLine(f"waiting  {shown_names(known.waiting)}", "dim"))
    lines = [StyledLine(_head(known, width), "bold")]
    lines += _running(known, width, room - len(lines) - len(below))
    shown = []
    for line in (lines + below)[:room]:
        text = in_line(SECRETS.hide(line.text))
        cut = text if len(text) <= width else f"{text[: max(0, width - 1)]}…"
        shown.append(StyledLine(cut, line.style))
    return shown


def _head(known: RunProgress, width: int) -> str:
    """How many have ended, how many run, how long the rest takes; as much as fits."""
    ended, total = len(known.outcomes), len(known.outline.benchmarks)
    left = known.seconds_left
    rest = ""
    if left is not None and ended < total:
        rest = f", about {duration_text(left)} left"
    counts = known.counts()
    outcomes = f" ({counts})" if counts else ""
    paused = f", {len(known.paused)} between launches" if known.paused else ""
    now = f"{len(known.running)} running{paused}, {len(known.waiting)} waiting"
    text = f"{ended} of {total} benchmarks{outcomes}, {now}{rest}"
    return text if len(text) <= width else f"{ended} of {total} benchmarks{outcomes}{rest}"


def _running(known: RunProgress, width: int, room: int) -> list[StyledLine]:
    """The table of what runs, each row with its devices below, in at most ``room`` lines."""
    running = list(known.running.values())
    if not running or room < 1:
        return []
    shown = running[: max(1, room - 2)]  # below the heading, and above how many more run
    header, *rows = _table(known, shown, width)
    lines = [StyledLine(header, "dim")] if room > 1 else []
    more = len(running) - len(shown)
    free = room - len(lines) - len(rows) - bool(more)
    for benchmark, row in zip(shown, rows, strict=True):
        lines.append(StyledLine(row))
        devices = _devices(benchmark, width, min(free, OF_DEVICES))
        free -= len(devices)
        lines += [StyledLine(text) for text in devices]
    if more:
        lines.append(StyledLine(f"and {more} more run", "dim"))
    return lines[:room]


def _table(known: RunProgress, benchmarks: Sequence[RunningBenchmark], width: int) -> list[str]:
    rows = [_cells(known, each, max(LEAST_NAME, width // 3)) for each in benchmarks]
    for count in range(len(LEFT_OUT) + 1):
        kept = tuple(column for column in COLUMNS if column.name not in LEFT_OUT[:count])
        values = tuple(tuple(row[column.name] for column in kept) for row in rows)
        lines = list(text_lines(without_unknown(Table(kept, values)), "  "))
        if max(map(len, lines)) <= width:
            break
    return lines


def _cells(known: RunProgress, benchmark: RunningBenchmark, longest: int) -> dict[str, str]:
    """The cells of a row; of a name that is too long the middle is left out."""
    is_several = benchmark.expected > 1
    elapsed = known.clock() - benchmark.repeat_began
    expected = known.launch_seconds(benchmark.name)
    of = f"{benchmark.limit:.0f}"
    if expected is not None and elapsed <= expected:
        of = f"about {expected:.0f}"
    name = benchmark.name if is_several else benchmark.title
    half = (longest - 1) // 2
    return {
        "benchmark": name if len(name) <= longest else f"{name[:half]}…{name[-half:]}",
        "launch": f"{benchmark.done + 1} of {benchmark.expected}" if is_several else "",
        "phase": benchmark.phase,
        "rate": benchmark.rate,
        "loss": benchmark.loss,
        "elapsed": f"{elapsed:.0f} of {of} s",
        "nodes": shown_nodes(benchmark.nodes),
    }


def _devices(benchmark: RunningBenchmark, width: int, room: int) -> list[str]:
    """Load and memory of each device in at most ``room`` lines, or of all in one."""
    if room < 1 or not benchmark.devices:
        return []
    lines: list[str] = []
    before = ""
    for node, index in sorted(benchmark.devices, key=lambda place: tuple(map(natural, place))):
        now = benchmark.devices[node, index]
        load = "-" if now.load is None else f"{now.load:.0%}"
        cell = f"  {index} {load}"
        if now.used is not None:
            cell += f" {_gib(now.used)}"
        label = f"  {node} GPU" if node else "  GPU"
        if label != before:
            lines.append(label)
            before = label
        elif len(lines[-1]) + len(cell) > width:
            lines.append(" " * len(label))
        lines[-1] += cell
    return lines if len(lines) <= room else [_of_all(benchmark.devices)]


def _gib(mib: float) -> str:
    return f"{mib / 1024:.0f}G" if mib >= 10240 else f"{mib / 1024:.1f}G"


def _of_all(devices: Mapping[tuple[str, str], DeviceSample]) -> str:
    """The range of load and memory over many devices; the least loaded one is named."""
    text = f"  {len(devices)} GPUs"
    loads = {place: now.load for place, now in devices.items() if now.load is not None}
    if loads:
        least = min(loads, key=lambda place: loads[place])
        node, index = least
        where = f"{node} GPU {index}".strip()
        text += f"  load {loads[least]:.0%} ({where}) to {max(loads.values()):.0%}"
    used = [now.used for now in devices.values() if now.used is not None]
    if used:
        text += f"  memory {_gib(min(used))} to {_gib(max(used))}"
    return text
