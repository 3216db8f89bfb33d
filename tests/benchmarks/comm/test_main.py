import math
from array import array
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.support.programs import BENCHMARKS, measured, on_ranks, program

comm = program("comm")

POSITIVE = {"allow_nan": False, "allow_infinity": False}


@given(
    st.floats(1e-6, 1e-2, **POSITIVE),
    st.floats(1e6, 1e12, **POSITIVE),
    st.lists(st.integers(1, 2**30), min_size=2, max_size=20, unique=True),
)
def test_a_line_is_found_again(alpha, beta, sizes):
    line = comm.fit([(size, alpha + size / beta) for size in sizes])
    times = [alpha + size / beta for size in sizes]
    if max(times) > 1.01 * min(times):  # otherwise rounding alone decides the slope
        assert line.beta == pytest.approx(beta, rel=1e-6)
    assert line.alpha + sizes[0] / line.beta == pytest.approx(times[0], rel=1e-6)
    assert line.residual < 1e-6


def test_the_weights_keep_the_latency():
    """A tenth more at the largest size: without weights alpha would be off by its 100-fold."""
    points = [(2**k, 1e-5 + 2**k / 1e10) for k in range(10, 31)]
    points[-1] = (2**30, 1.1 * points[-1][1])
    line = comm.fit(points)
    assert line.alpha == pytest.approx(1e-5, rel=0.1)
    assert line.beta == pytest.approx(1e10, rel=0.1)
    assert 0.01 < line.residual < 0.1


def test_what_has_no_line():
    assert comm.fit([]) is None
    assert comm.fit([(8, 1.0), (8, 2.0)]) is None
    assert comm.fit([(8, 2.0), (16, 1.0)]).beta == math.inf


def test_sizes():
    assert comm.sizes(1024, 8192, 2, 4) == [1024, 2048, 4096, 8192]
    assert comm.sizes(8, 100, 3, 16) == [16, 64]  # 8 -> 16; 24 -> 16; 72 -> 64
    assert comm.sizes(8, 8, 2, 4) == [8]
    assert comm.sizes(64, 8192, 1, 4) == [64]


def test_the_slowest_rank_counts():
    seen = comm.Measured(1000, 5, 10, [[9.0, 1.0, 2.0], [9.0, 2.0, 4.0]])
    assert seen.slowest == 1
    assert seen.seconds == [2e-4, 4e-4]
    assert seen.time == pytest.approx(3e-4)


def test_help_states_the_formulas():
    text = comm.options().format_help()
    assert "bus bandwidth       = algorithm bandwidth * 2(n-1)/n   all_reduce" in text
    assert "time = alpha + bytes / beta" in text


@pytest.mark.parametrize(
    ("argv", "message"), [([], "communication needs at least two ranks: use torchrun")]
)
def test_what_is_refused(wire, capsys, argv, message):
    with pytest.raises(SystemExit) as exit_:
        comm.main(["--device", "cpu", *argv])
    assert exit_.value.code == 2
    assert capsys.readouterr().err == f"error: {message}\n"
    assert wire.close()[-1]["$event"] == "error"


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        ("--op all_reduce --no-in-place", "PyTorch has all_reduce in place alone"),
        ("--op p2p --in-place", "PyTorch has p2p out of place alone"),
    ],
)
def test_places_that_pytorch_lacks(argv, sentence):
    with pytest.raises(comm.UnsupportedError, match=sentence):
        comm.in_place(comm.options().parse_args(argv.split()))


def test_the_default_place_is_what_users_do():
    chosen = {}
    for name in comm.OPERATIONS:
        chosen[name] = comm.in_place(comm.options().parse_args(["--op", name]))
    assert {name for name, in_place in chosen.items() if in_place} == {"all_reduce", "broadcast"}
    assert comm.in_place(comm.options().parse_args(["--op=reduce_scatter", "--in-place"]))


def test_a_cuda_graph_holds_the_operations_of_an_observation(monkeypatch):
    """Without a GPU: what is captured, what is replayed, and how many operations that is."""
    log = []
    graph = SimpleNamespace(replay=lambda: log.append("replay"))
    monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: graph)
    monkeypatch.setattr(torch.cuda, "graph", lambda made: nullcontext(made))

    def timed(run, call, number, repeat, warmup, *_):
        log.append((number, repeat, warmup))
        call()
        return array("d")

    monkeypatch.setattr(comm, "timed_observations", timed)
    args = comm.options().parse_args(["--cuda-graph", "--number=3", "--repeat=4", "--warmup=5"])
    run = SimpleNamespace(device=torch.device("cuda", 0))
    warmup, _ = comm.observe(args, run, lambda: log.append("call"), (0, 1))
    assert log == ["call"] * 3 + [(1, 4, 2), "replay"]
    assert warmup == 6
    with pytest.raises(comm.UnsupportedError, match="--cuda-graph needs a GPU: this device is cpu"):
        comm.observe(args, SimpleNamespace(device=torch.device("cpu")), log.clear, (0, 1))


@pytest.mark.slow
def test_two_ranks(wire):
    argv = "--op all_reduce --max-bytes 64Ki --factor 8 --number 4 --repeat 3 --warmup 2"
    done = on_ranks(BENCHMARKS / "comm" / "main.py", *argv.split())
    assert done.returncode == 0, done.stderr
    payloads = wire.close()
    rows = [p["comm"] for p in payloads if "comm" in p]
    assert [row["bytes"] for row in rows] == [1024, 8192, 65536]
    for row in rows:
        assert row["time_us_best"] <= row["time_us"] <= row["time_us_worst"]
        assert row["algorithm_gb_s"] == pytest.approx(row["bytes"] / row["time_us"] / 1e3, rel=1e-4)
        assert row["bus_gb_s"] == pytest.approx(row["algorithm_gb_s"])  # 2(n-1)/n is 1 for two
        assert (row["backend"], row["ranks"], row["operations"]) == ("gloo", 2, 12)
    (fitted,) = (p["comm_fit"] for p in payloads if "comm_fit" in p)
    assert fitted["sizes"] == 3
    rates = [p for p in payloads if "rate" in p]
    assert [p.get("warmup", False) for p in rates] == [True, False, False, False]
    assert {p["units"] for p in rates} == {"GB/s"}
    # As the report takes the mean: work over time.
    mean = 3 / sum(1 / p["rate"] for p in measured(payloads))
    assert mean == pytest.approx(rows[-1]["bus_gb_s"], rel=1e-4)
    assert {p["step_times"]["rank"] for p in payloads if "step_times" in p} == {0, 1}


@pytest.mark.slow
def test_results_are_right_and_wrong_ones_are_seen():
    done = on_ranks(Path(__file__).with_name("on_two_ranks.py"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("all right") == 2
