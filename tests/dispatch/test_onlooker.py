import io
import re

from milabench_ddp.dispatch.onlooker import PlainOnlooker
from tests.support.dispatch import Clock


def test_a_line_for_each_thing() -> None:
    out, clock = io.StringIO(), Clock()
    onlooker = PlainOnlooker(out, clock)
    onlooker.begin("gpt-2", ["n0", "n1"], 600.0)
    clock.sleep(12.34)
    onlooker.say("n2 is back")
    onlooker.end("gpt-2", "failed", "n1: ValueError: no")
    onlooker.end("gpt-4", "lost", "it needs 4 nodes, and only 3 are left of 4")
    onlooker.begin("x", ["n0"], 0.5)
    onlooker.end("x", "ok", "")
    lines = out.getvalue().splitlines()
    assert all(re.match(r"\d\d:\d\d:\d\d ", line) for line in lines)
    assert [line[9:] for line in lines] == [
        "gpt-2: on n0, n1, at most 600 s",
        "n2 is back",
        "gpt-2: failed in 12.3 s, n1: ValueError: no",
        "gpt-4: lost, it needs 4 nodes, and only 3 are left of 4",
        "x: on n0, at most 0.5 s",
        "x: ok in 0.0 s",
    ]
