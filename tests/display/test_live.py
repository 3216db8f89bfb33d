"""The live view on terminals of several sizes; the test moves the clock, and draws."""

import io
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.live import Live

from milabench_ddp.display.live import LiveProgress, live_progress
from milabench_ddp.display.run_progress import Outline
from milabench_ddp.events import Outcome, Verdict
from milabench_ddp.results.run_dir import RunDir
from tests.golden import check_golden
from tests.support.dispatch import Clock
from tests.support.progress import (
    OK,
    rate,
    started,
    tell_of_a_run_on_this_host,
    tell_of_a_sweep,
    without_times,
)
from tests.support.rates import falling
from tests.support.result_files import config, end, rates, start, write
from tests.support.result_files import rate as written_rate
from tests.support.terminal import screen


class Film(Clock):
    """A clock; whenever it moves, the screen is drawn and kept."""

    def __init__(self, width: int = 80, height: int = 24) -> None:
        super().__init__()
        self.out = io.StringIO()
        self.console = Console(file=self.out, force_terminal=True, width=width, height=height)
        self.frames: list[str] = []
        self.live: Live | None = None

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self.draw()

    def draw(self) -> list[str]:
        assert self.live is not None
        self.live.refresh()
        lines = screen(self.out.getvalue())
        self.frames.append("\n".join(lines))
        return lines

    @contextmanager
    def shows(self, *names: str, **more: Any) -> Iterator[LiveProgress]:
        progress = LiveProgress(self.console, Outline(names, **more), self)
        self.live = Live(
            console=self.console,
            auto_refresh=False,
            transient=True,
            get_renderable=progress.picture,
        )
        with self.live:
            yield progress
        self.frames.append("\n".join(screen(self.out.getvalue())))


def test_what_has_ended_stays_above_a_table_of_what_runs():
    film = Film()
    names = ("flops", "gpt-1.5b", "resnet50", "gpt-1", "gpt-2", "gpt-1.2", "gpt-16", "last")
    with film.shows(*names) as live:
        tell_of_a_run_on_this_host(live, film)
        tell_of_a_sweep(live, film)
    golden = "\n\n".join(film.frames) + "\n"
    check_golden("display/live.txt", without_times(golden))


def test_what_ended_is_coloured_by_its_outcome():
    film = Film()
    with film.shows("a", "b", "c") as live:
        film.draw()
        live.end("a", OK)
        live.end("b", Verdict(Outcome.TIMEOUT, "60 s are over"))
        live.end("c", Verdict(Outcome.CANCELLED))
    lines = film.out.getvalue().splitlines()
    for name, colour in {"a": "32", "b": "31", "c": "33"}.items():
        (line,) = [line for line in lines if f" {name}: " in line and "  b: " not in line]
        assert f"\x1b[{colour}m" in line
    assert all("\x1b[3" not in line for line in lines if "benchmarks" in line.split("\x1b[2K")[-1])


def test_a_name_is_text_and_not_markup():
    film = Film()
    with film.shows("[red]x[/]", "y") as live:
        live.begin("[red]x[/]", ["[node3]"], 60.0)
        assert film.draw()[2].split() == ["[red]x[/]", "0", "of", "60", "s", "[node3]"]
        live.end("[red]x[/]", Verdict(Outcome.FAILED, ":smile: [b]no[/b]"))
        assert "failed  [red]x[/]: :smile: [b]no[/b]" in film.draw()
    assert film.frames[-1].endswith("[red]x[/]: failed in 0.0 s, :smile: [b]no[/b]")


@pytest.mark.parametrize(("width", "height"), [(80, 24), (40, 8), (12, 4)])
def test_300_benchmarks_fit_in_the_terminal(width: int, height: int):
    film = Film(width, height)
    names = [f"sweep-of-many-sizes-{number}" for number in range(300)]
    with film.shows(*names) as live:
        for count, name in enumerate(names):
            live.begin(name, [f"node{rank}" for rank in range(count)], 60.0)
            live.event(started(f"{name}.D0"))
            live.event(rate(f"{name}.D0", 1e6, loss=0.123456))
        lines = film.draw()
        assert len(lines) == height - 1
        assert max(map(len, lines)) <= width
        assert lines[0].startswith("0 of 300")
        assert lines[1].startswith("benchmark")
        assert lines[2].startswith("sweep") or height == 4
        for name in names:
            live.end(name, OK)
    assert film.frames[-1].count(": ok in 0.0 s") == 300


def test_a_long_name_keeps_both_its_ends():
    film = Film(width=80)
    name = "gpt-strategy=fsdp-size=1.5b-precision=bf16-nodes=16"
    with film.shows(name) as live:
        live.begin(name, ["node0", "node1"], 60.0)
        live.event(started(f"{name}.R2.0.node0"))
        live.event(rate(f"{name}.R2.0.node0", 1.5, loss=10.25))
        row = film.draw()[2]
    assert row.startswith("gpt-strategy…-nodes=16 R2  measuring  1.5 items/s  10.25  0 of 60 s")
    assert len(row) <= 80


def test_it_can_be_drawn_while_it_is_told():
    outline = Outline([f"b{number}" for number in range(300)])
    live = LiveProgress(Console(file=io.StringIO(), width=80, height=24), outline)
    enough = threading.Event()

    def draw() -> None:
        while not enough.is_set():
            live.picture()

    with ThreadPoolExecutor() as pool:
        drawing = pool.submit(draw)
        for number in range(300):
            live.begin(f"b{number}", ["node0"], 60.0)
            live.event(started(f"b{number}.D{number}"))
            live.event(rate(f"b{number}.D{number}", 1.0))
            live.end(f"b{number - 5}", OK)
        enough.set()
        drawing.result()


def test_on_stderr_it_leaves_what_ended(monkeypatch: pytest.MonkeyPatch):
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stderr", out)
    with live_progress(Outline(("a", "b"))) as live:
        live.begin("a", [], 60.0)
        live.end("a", OK)
    assert "0 of 2 benchmarks, 0 running, 2 waiting" in out.getvalue()
    (line,) = screen(out.getvalue())
    assert line.endswith(" a: ok in 0.0 s")


def test_it_reads_what_other_processes_write(tmp_path: Path):
    film = Film()
    with film.shows("b", run=RunDir(tmp_path), sends_events=False) as live:
        live.begin("b", ["node0"], 60.0)
        write(tmp_path, "b.0.node0", config("b"), start(), written_rate(5.0, loss=0.5))
        row = film.draw()[2].split()
        assert row == ["b", "measuring", "5", "items/s", "0.5", "0", "of", "60", "s", "node0"]
        live.end("b", OK)
    assert film.frames[-1].endswith(" b: ok in 0.0 s, last rate 5 items/s")


def test_a_finding_about_what_has_ended_is_told(tmp_path: Path):
    film = Film(width=120)
    with film.shows("b", "c", run=RunDir(tmp_path)) as live:
        live.begin("b", [], 60.0)
        told = rates(falling(60, 1, 0.05))
        write(tmp_path, "b.D0", config("b", device=0), start(), told, end())
        live.end("b", OK)
        assert film.draw()[-2].startswith("warning  b.D0: its rate still falls by 5.")
    assert " warning  b.D0: its rate still" in film.frames[-1]
