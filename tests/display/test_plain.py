import io
import re
import time

from milabench_ddp.display.plain import PlainProgress
from milabench_ddp.display.run_progress import Outline
from tests.golden import check_golden
from tests.support.dispatch import Clock
from tests.support.progress import OK, tell_of_a_run_on_this_host, tell_of_a_sweep, without_times


def test_a_line_for_each_thing_of_note():
    out, clock = io.StringIO(), Clock()
    plain = PlainProgress(out, clock=clock)
    tell_of_a_run_on_this_host(plain, clock)
    tell_of_a_sweep(plain, clock)
    check_golden("display/plain.txt", without_times(out.getvalue()))


def test_each_line_has_the_time_of_day_and_is_flushed_at_once():
    class Out(io.StringIO):
        flushed = ""

        def flush(self) -> None:
            self.flushed = self.getvalue()

    out = Out()
    PlainProgress(out).message("[node3] is back")
    assert re.fullmatch(r"\d\d:\d\d:\d\d \[node3\] is back\n", out.flushed)


def test_an_end_that_was_elsewhere_has_its_time_of_day():
    """It may have been an hour ago, or be by a clock that is an hour off."""
    out, ended = io.StringIO(), 1_790_000_000.0
    PlainProgress(out).end("flops", OK, (ended - 60.0, ended))
    assert out.getvalue() == time.strftime("%H:%M:%S flops: ok\n", time.localtime(ended))


def test_of_two_runs_that_take_turns_each_line_says_its_own():
    out = io.StringIO()
    PlainProgress(out, Outline(side="m.before")).begin("flops", [], 60.0)
    assert without_times(out.getvalue()) == "hh:mm:ss m.before: flops: at most 60 s\n"
