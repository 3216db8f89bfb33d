"""Programs on two ranks, and the checks that all of them must pass."""

import pytest

from tests.support.programs import BENCHMARKS, measured, on_ranks


def check_two_ranks(wire, name, argv, items):
    """Train on two ranks: the rate is that of both, and each reports all of its steps.

    Args:
        wire: the FIFO of the test.
        name: of the program.
        argv: its options.
        items: per step and rank.
    """
    done = on_ranks(BENCHMARKS / name / "main.py", *argv.split())
    assert done.returncode == 0, done.stderr
    payloads = wire.close()
    rates = measured(payloads)
    assert {p["rank"] for p in rates} == {0}
    times = {}
    for p in payloads:
        if "step_times" in p:
            chunk = p["step_times"]
            times.setdefault(chunk["rank"], []).extend(chunk["ms"])
    assert set(times) == {0, 1}
    assert len(times[0]) == len(times[1]) == sum(p["steps"] for p in rates)
    # The rate is that of both ranks: their items over the step time of rank 0.
    seconds = sum(p["steps"] * 2 * items / p["rate"] for p in rates)
    assert seconds == pytest.approx(sum(times[0]) / 1e3, rel=1e-3)
