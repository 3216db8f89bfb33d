from types import SimpleNamespace

import pytest
import torch

from tests.support.programs import measured, program

membw = program("membw")

# What STREAM computes, from a = 1, b = 2, c = 5 and s = 3, and the vectors it moves.
STREAM = {"copy": (2.0, 2), "scale": (6.0, 2), "add": (7.0, 3), "triad": (17.0, 3)}


@pytest.mark.parametrize("name", STREAM)
def test_the_operations_are_those_of_stream(name):
    expected, vectors = STREAM[name]
    a, b, c = (torch.full((5,), value) for value in (1.0, 2.0, 5.0))
    result = membw.OPERATIONS[name].call(a, b, c)
    assert result is a
    assert a.tolist() == [expected] * 5
    assert (b.tolist(), c.tolist()) == ([2.0] * 5, [5.0] * 5)
    assert membw.OPERATIONS[name].vectors == vectors


@pytest.mark.parametrize("name", STREAM)
@pytest.mark.parametrize("place", [0, -1])
def test_a_wrong_result_is_seen(monkeypatch, name, place):
    vectors = [torch.rand(10_000) for _ in range(3)]
    membw.check_result(name, vectors)
    right = membw.OPERATIONS[name]

    def off(a, b, c):
        right.call(a, b, c)[place] *= 1.001
        return a

    monkeypatch.setitem(membw.OPERATIONS, name, membw.Operation(right.vectors, off))
    with pytest.raises(RuntimeError, match=f"{name} of 10000 numbers gave a wrong result"):
        membw.check_result(name, vectors)


def test_the_rate_is_the_bytes_over_the_time(wire):
    argv = "--op triad --bytes 4Ki --number 2 --repeat 4 --warmup 1 --device cpu"
    membw.main(argv.split())
    payloads = wire.close()
    (times,) = (p["step_times"]["ms"] for p in payloads if "step_times" in p)
    for p, ms in zip(measured(payloads), times, strict=True):
        # the times are told to 0.1 us
        assert ms == pytest.approx(3 * 4096 * 2 / p["rate"] / 1e6, abs=6e-5)
    (row,) = (p["bandwidth"] for p in payloads if "bandwidth" in p)
    assert (row["path"], row["bytes"], row["data_sheet_gb_s"]) == ("triad", 4096, None)
    assert row["gb_s"] == pytest.approx(4 * 3 * 4096 * 2 / sum(times) / 1e6, rel=0.05)


def test_vectors_that_stay_in_the_cache_are_refused(monkeypatch):
    h100 = SimpleNamespace(L2_cache_size=50 * 2**20)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: h100)
    gpu = torch.device("cuda", 0)
    assert membw.length(gpu, 200 * 2**20) == 200 * 2**20
    with pytest.raises(membw.UnsupportedError, match="stay in the L2 cache of 52428800: --bytes 2"):
        membw.length(gpu, 200 * 2**20 - 4)


@pytest.mark.parametrize(
    ("cache", "mebibytes"), [(0, 64), (6, 64), (50, 256), (64, 256), (126, 512)]
)
def test_by_default_vectors_are_longer_than_the_cache(monkeypatch, cache, mebibytes):
    of_gpu = SimpleNamespace(L2_cache_size=cache * 2**20)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: of_gpu)
    assert membw.length(torch.device("cuda", 0), None) == mebibytes * 2**20
    assert membw.length(torch.device("cpu"), None) == 64 * 2**20
    assert membw.length(torch.device("cpu"), 4) == 4
