import io

from rich.console import Console

from milabench_ddp.display.sweep import LiveSweep
from tests.support.terminal import screen


def test_what_has_ended_stays_and_what_runs_is_drawn_below():
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, height=20)
    now = [0.0]
    with LiveSweep(console, 5, clock=lambda: now[0]) as live:
        live.begin("a", ["node1"], 60)
        live.begin("b", [f"node{k}" for k in range(8)], 90)
        now[0] = 12.0
        live.end("a", "ok", "")
        live.say("[node3] is back")
        live.begin("c", ["node1", "node2"], 60)
        during = screen(out.getvalue())
        live.end("b", "lost", "node3 is gone")
    after = screen(out.getvalue())
    assert during[0].endswith("a: ok in 12.0 s")
    assert during[1].endswith("[node3] is back")
    assert during[2].split() == ["point", "nodes", "elapsed"]
    assert during[3].split() == ["b", "node0", "..", "node7", "(8)", "12", "of", "90", "s"]
    assert during[4].split() == ["c", "node1,", "node2", "0", "of", "60", "s"]
    assert during[5].strip() == "1 of 5 points (1 ok), 2 running, 2 waiting"
    assert [line.split(" ", 1)[1] for line in after][-1] == "b: lost in 12.0 s, node3 is gone"


def test_more_running_points_than_fit_do_not_scroll():
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, height=8)
    with LiveSweep(console, 30) as live:
        for k in range(20):
            live.begin(f"p{k}", ["n"], 60)
        assert len(screen(out.getvalue())) <= 8
