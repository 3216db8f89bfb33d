import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.results.defects import DefectKind
from milabench_ddp.results.rank import Bucket, Collections
from milabench_ddp.results.read import read_events
from milabench_ddp.results.records import Record
from tests.support.result_files import config, line, start, write
from tests.support.told_records import told_numbers as told


def taken(*payloads: dict[str, Any]) -> tuple[Record, list[DefectKind]]:
    with TemporaryDirectory() as folder:
        path = write(Path(folder), "b", config("b"), start(), *(line("data", p) for p in payloads))
        record = read_events(path)
    return record, [defect.kind for defect in record.defects]


def times(rank: Any, ms: Any, wait_ms: Any) -> dict[str, Any]:
    return {"step_times": {"rank": rank, "from": 0, "ms": ms, "wait_ms": wait_ms}}


def test_the_steps_of_each_rank_are_joined() -> None:
    record, faults = taken(
        times(0, [1.0, 2.0], [0.5, 0.0]), times(1, [9.0], [0.0]), times(0, [3.0], [0.25])
    )
    assert (list(record.ranks[0].ms), record.ranks[0].waited) == ([1.0, 2.0, 3.0], 0.75)
    assert list(record.ranks[1].ms) == [9.0]
    assert faults == []


def test_the_type_of_its_matrix_products() -> None:
    told, _ = taken({"task": "main", "rank": 0, "compute_dtype": "bf16"}, {"compute_dtype": 16})
    assert told.compute_dtype == "bf16"
    silent, _ = taken({"task": "main", "model": {}})
    assert silent.compute_dtype == ""


@pytest.mark.parametrize(
    "bad",
    [None, 3, {}, times("0", [1.0], [0.0])["step_times"], times(True, [1.0], [0.0])["step_times"],
     times(0, 1.0, [])["step_times"], times(0, [math.nan], [0.0])["step_times"]],
)  # fmt: skip
def test_damaged_step_times_are_left_out(bad: Any) -> None:
    record, faults = taken({"step_times": bad})
    assert faults == [DefectKind.BAD_STEPS]
    assert not any(len(rank.ms) for rank in record.ranks.values())


@pytest.mark.parametrize(
    ("peak", "allocated", "reserved"),
    [([10.0, 20.0], 10.0, 20.0), (20.0, math.nan, 20.0), ([20.0], math.nan, 20.0)],
)
def test_memory(peak: Any, allocated: float, reserved: float) -> None:
    record, _ = taken({"rank": 3, "memory_peak": peak}, {"rank": 3, "memory_peak": [1.0, 2.0]})
    known = record.ranks[3]
    assert known.allocated == pytest.approx(1.0 if math.isnan(allocated) else allocated)
    assert known.reserved == reserved


def test_the_parts_of_a_rank() -> None:
    shares = {"forward": 0.75, "data": None, "optimizer": 0.25}
    part_ms = {"forward": [3.0, 0.5], "optimizer": [1.0], "data": "none"}
    record, faults = taken({"rank": 1, "shares": shares, "part_ms": part_ms})
    assert record.ranks[1].shares == {"forward": 0.75, "optimizer": 0.25}
    assert record.ranks[1].part_ms == {"forward": (3.0, 0.5)}
    assert record.facts == {}  # those of rank 0 only
    assert faults == []


def test_rows_of_a_table_are_kept_in_their_order() -> None:
    record, _ = taken({"comm": {"bytes": 8}}, {"sweep": {"m": 2}}, {"comm": {"bytes": 4}})
    assert record.tables == {"comm": [{"bytes": 8}, {"bytes": 4}], "sweep": [{"m": 2}]}


def test_the_parts_of_each_step_are_joined() -> None:
    first, second = times(0, [4.0, 5.0], [1.0, 1.0]), times(0, [6.0], [1.0])
    first["step_times"]["parts"] = {"forward": [3.0, 4.0]}
    second["step_times"]["parts"] = {"forward": [5.0]}
    record, faults = taken(first, second)
    assert list(record.ranks[0].parts["forward"]) == [3.0, 4.0, 5.0]
    assert list(record.ranks[0].wait_ms) == [1.0, 1.0, 1.0]
    assert faults == []


@pytest.mark.parametrize("bad", [3, {"forward": 1.0}, {"forward": ["x"]}, {"forward": [math.inf]}])
def test_steps_with_damaged_parts_are_left_out(bad: Any) -> None:
    payload = times(0, [1.0], [0.0])
    payload["step_times"]["parts"] = bad
    record, faults = taken(payload)
    assert faults == [DefectKind.BAD_STEPS]
    assert not any(len(rank.ms) for rank in record.ranks.values())


def test_every_number_is_kept_by_name_and_rank() -> None:
    record, _ = taken(
        {"task": "train", "rank": 0, "rate": 5.0, "steps": 2, "step": 1, "time": 9.0},
        {"task": "train", "rank": 1, "norm": 0.5, "model": {"build_s": 2, "name": "x"}},
        {"norm": 0.25, "warmup": True},
        {"norm": 0.25, "warmup": 1},
        {
            "norm": True,
            "warmup": 0,
            "other": {"deep": {"deeper": 1.0}, "flat": math.nan, "one": 1.0},
        },
    )
    assert told(record) == {
        "norm": {1: [(0.5, 1)]},
        "build_s": {1: [(2, 1)]},
        "other.one": {0: [(1.0, 1)]},
    }
    assert record.not_finite == {"other.flat": {"nan": 1}}


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
ANY = st.recursive(SCALARS, lambda v: st.lists(v) | st.dictionaries(st.text(), v), max_leaves=4)
INNER = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("rank", "ms", "wait_ms", "forward", "parts"), ANY)
)
KEYS = ("rank", "step_times", "memory_peak", "shares", "part_ms", "comm", "comm_fit", "sweep")


@given(st.dictionaries(st.sampled_from(KEYS), ANY | INNER))
def test_no_payload_makes_it_fail(payload: dict[str, Any]) -> None:
    record, _ = taken(payload)
    for rank in record.ranks.values():
        assert math.isfinite(sum(rank.ms))


@pytest.mark.parametrize(
    "reading",
    [
        {"energy": math.nan},
        {"energy": -1.0},
        {"sm_clock": math.inf},
        {"time": 1e30},
        {"time": 10**400},
        {"pcie_link": [5, 10**8]},
        {"ecc": [0, -1]},
    ],
)
def test_samples_that_no_sensor_tells_are_damaged(reading: dict[str, Any]) -> None:
    record, faults = taken({"gpudata": {"0": {"load": 1.0, **reading}, "1": {"load": 1.0}}})
    assert list(record.samples) == ["1"]
    assert faults == [DefectKind.BAD_SAMPLE]


@pytest.mark.parametrize(
    "reading", [{"memory": [0.0, 0.0]}, {"swap": [math.nan, 0.0]}, {"cpu": -1}]
)
def test_samples_of_hosts_that_cannot_be_are_damaged(reading: dict[str, Any]) -> None:
    record, faults = taken({"hostdata": {"cpu_clock": 2000.0, **reading}})
    assert (record.host, faults) == ([], [DefectKind.BAD_SAMPLE])


BUCKET = {"bytes": 4096, "ready_ms": 1.5, "ms": 2.0, "hidden_ms": 0.5}


def test_the_buckets_of_a_rank_are_joined() -> None:
    """A program that torchrun started again tells them again."""
    first = {"rank": 1, "buckets": [BUCKET, BUCKET], "first_bucket": 0, "overlap_slowdown": 1.25}
    second = {"rank": 1, "buckets": [{"bytes": 8, "ready_ms": 2.5, "ms": None}], "first_bucket": 2}
    record, faults = taken(first, second, first, second)
    assert [bucket.bytes for bucket in record.ranks[1].buckets] == [4096, 4096, 8]
    assert record.ranks[1].buckets[1:] == [Bucket(4096, 1.5, 2.0, 0.5), Bucket(8, 2.5)]
    assert (record.ranks[1].overlap_slowdown, faults) == (1.25, [])
    assert list(record.numbers) == ["overlap_slowdown"]


@pytest.mark.parametrize(
    "damaged",
    [
        {"buckets": [BUCKET, 3]},
        {"buckets": [{**BUCKET, "ms": math.nan}]},
        {"buckets": [{"bytes": 4096, "ms": 2.0}]},
        {"buckets": [BUCKET], "first_bucket": 1},
        {"buckets": [BUCKET], "first_bucket": "0"},
    ],
)
def test_damaged_buckets(damaged: dict[str, Any]) -> None:
    record, faults = taken({"rank": 0, **damaged})
    assert (record.ranks[0].buckets, faults) == ([], [DefectKind.BAD_BUCKETS])


COLLECTIONS = {"ms": 7.5, "full_ms": 4.0, "frozen_ms": 0.1}


def test_garbage_collections() -> None:
    record, faults = taken({"rank": 1, "garbage_collections": COLLECTIONS})
    assert record.ranks[1].collections == Collections(7.5, 4.0, 0.1)
    assert (record.numbers, faults) == ({}, [])


@pytest.mark.parametrize(
    "damaged",
    [{"ms": -1.0}, {"full_ms": math.inf}, {"frozen_ms": "4"}],
)
def test_damaged_garbage_collections(damaged: dict[str, Any]) -> None:
    record, faults = taken({"rank": 0, "garbage_collections": {**COLLECTIONS, **damaged}})
    assert record.ranks[0].collections == Collections()
    assert faults == [DefectKind.BAD_COLLECTIONS]
