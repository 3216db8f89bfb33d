import io
from dataclasses import replace

from rich.console import Console

from milabench_ddp.display.live import LiveDisplay
from milabench_ddp.events import Data, Outcome, Started
from tests.support.launches import launch
from tests.support.terminal import screen


def test_the_table_shows_where_each_benchmark_is():
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, height=20)
    it = launch("pass", max_duration=30)
    with LiveDisplay(console, ["a", "b", "c"]) as live:
        live.begin(it.benchmark, it)
        live.see(Started("b.D0", 0.0, 1, ("x",)))
        live.see(Data("b.D0", 0.0, {"rate": 12.5, "units": "items/s", "loss": 0.25}))
        live.see(Data("b.D0", 0.0, {"gpudata": {"0": {"load": 0.5}}}))
        live.tick()
        during = screen(out.getvalue())
        live.end(it.benchmark, Outcome.FAILED, "exit status 3")
        live.end(replace(it.benchmark, name="c"), Outcome.CANCELLED, "stopped before it began")
    after = screen(out.getvalue())
    assert during[0].split() == ["benchmark", "phase", "rate", "loss", "load", "elapsed"]
    assert during[1].split() == ["a", "waiting"]
    assert during[2].split() == [
        "b", "measuring", "12.5", "items/s", "0.25", "50%", "0", "of", "30", "s",
    ]  # fmt: skip
    assert "failed: exit status 3" in after[2]
    assert after[3].split() == ["c", "cancelled:", "stopped", "before", "it", "began"]


def test_a_name_is_text_and_not_markup():
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, height=20)
    with LiveDisplay(console, ["[red]x[/]"]):
        pass
    assert screen(out.getvalue())[1].split() == ["[red]x[/]", "waiting"]


def test_more_benchmarks_than_fit_keep_the_running_one_in_sight():
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, height=8)
    it = launch("pass")
    with LiveDisplay(console, [*(f"x{i}" for i in range(20)), "b", "y"]) as live:
        live.begin(it.benchmark, it)
        during = screen(out.getvalue())
    assert [line for line in during if line.split()[0] == "b"] != []
    assert len(during) <= 8
