import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.results.defects import DefectKind
from milabench_ddp.results.read import output_lines, read_events
from milabench_ddp.samples import DeviceProblem, DeviceSample
from tests.support.observed import Observation, observations
from tests.support.result_files import RECORDED, config, end, line, loss, rate, sample, start, write

REPLAYS = RECORDED / "replays"


def kinds(path: Path) -> list[tuple[DefectKind, int | None, int]]:
    return [(d.kind, d.line, d.count) for d in read_events(path).defects]


def test_a_whole_file(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "b.D0",
        config("b", tag=["b", "R3", "D0"]),
        line("meta", {"cpu": {"count": 4}}),
        start(10.0),
        line("phase", {"name": "init"}, "data"),
        line("ready", {}, "data"),
        rate(1.5, steps=3, warmup=True),
        rate(2.5, steps=4),
        loss(7.5),
        sample(d0=(500.0, 0.5)),
        line("data", {"task": "main", "memory_peak": [10.0, 20.0], "rank": 1}, "data"),
        line("line", "hello\n", "stdout"),
        line("stop", None, "data"),
        line("error", {"type": "E", "message": "m", "rank": 1}, "data"),
        end(0, 12.5),
    )
    record = read_events(path)
    assert (record.name, record.tag, record.repeat, record.units) == ("b", "b.D0", "R3", "items/s")
    assert observations(record.rates) == [Observation(1.5, 3, True), Observation(2.5, 4, False)]
    assert list(record.losses) == [7.5]
    assert record.samples == {"0": [DeviceSample((500.0, 80000.0), 0.5)]}
    assert (record.ranks[1].allocated, record.ranks[1].reserved) == (10.0, 20.0)
    assert record.meta == {"cpu": {"count": 4}}
    assert record.stopped
    assert record.errors == [{"type": "E", "message": "m", "rank": 1}]
    assert record.seconds == 2.5
    assert record.defects == []


@pytest.mark.parametrize(
    ("name", "rates", "losses", "stopped", "code"),
    [
        ("early_stop", 1, 1, True, 1),
        ("ensure_rate", 0, 0, False, 0),
        ("error", 1, 1, False, 1),
        ("exception", 0, 0, False, 1),
        ("loss", 9, 9, False, 0),
        ("usage", 0, 0, False, 0),
    ],
)
def test_milabenchs_recorded_scenarios(
    name: str, rates: int, losses: int, stopped: bool, code: int
) -> None:
    record = read_events(REPLAYS / f"{name}.txt")
    assert (len(record.rates), len(record.losses), record.stopped) == (rates, losses, stopped)
    assert record.end is not None
    assert record.end["return_code"] == code
    assert record.defects == []


BAD_LINES = {
    "{not json\n": DefectKind.NOT_JSON,
    "[1, 2]\n": DefectKind.NOT_OBJECT,
    "3\n": DefectKind.NOT_OBJECT,
    '{"data": {}}\n': DefectKind.NO_EVENT,
    line("data", None): DefectKind.BAD_EVENT,
    line("start", "now"): DefectKind.BAD_EVENT,
    line("surprise", {}): DefectKind.UNKNOWN_EVENT,
    line("format_error", "x=1"): DefectKind.FORMAT_ERROR,
    line("overseer_error", {"type": "E", "message": "m"}): DefectKind.INSTRUMENT,
    rate(None): DefectKind.BAD_RATE,
    rate("fast"): DefectKind.BAD_RATE,
    rate(float("nan")): DefectKind.BAD_RATE,
    rate(float("inf")): DefectKind.BAD_RATE,
    line("data", {"task": "main", "gpudata": [1]}): DefectKind.BAD_SAMPLE,
    line("data", {"task": "main", "gpudata": {"0": {}}}): DefectKind.BAD_SAMPLE,
    line("device_problem", {"sentence": 1}): DefectKind.BAD_EVENT,
    line("device_problem", "GPU 1 is lost"): DefectKind.BAD_EVENT,
    start(): DefectKind.TWO_STARTS,
}


@pytest.mark.parametrize("bad", BAD_LINES)
def test_a_bad_line_is_named_and_the_rest_is_read(tmp_path: Path, bad: str) -> None:
    path = write(tmp_path, "b.D0", config("b"), start(), rate(1.0), bad, bad, rate(2.0), end())
    assert kinds(path) == [(BAD_LINES[bad], 4, 2)]
    record = read_events(path)
    assert [told for told in record.rates.rate if isinstance(told, float) and 0 < told < 9] == [
        1,
        2,
    ]
    assert record.end is not None
    assert f"{path}:4: " in str(record.defects[0])
    assert str(record.defects[0]).endswith("; and 1 more")


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    path = write(tmp_path, "b.D0", config("b"), start())
    with path.open("ab") as file:
        file.write(b'{"event": "line", "data": "\xff", "pipe": "stdout"}\n{"event": "\xff"}\n')
    assert kinds(path) == [(DefectKind.NOT_UTF8, 4, 1)]


def test_two_ends(tmp_path: Path) -> None:
    path = write(tmp_path, "b.D0", config("b"), start(), end(), end(1))
    assert kinds(path) == [(DefectKind.TWO_ENDS, 4, 1)]


@pytest.mark.parametrize(
    ("parts", "kind"),
    [
        ((), DefectKind.EMPTY),
        ((line("message", "hello"), line("message", "again")), DefectKind.NO_CONFIG),
        ((start(), rate(1.0), end()), DefectKind.NO_CONFIG),
        ((line("config", {"group": "b"}), start()), DefectKind.NO_NAME),
        ((config("b"), rate(1.0)), DefectKind.NO_START),
        ((config("remote", definition="."), start(), start()), DefectKind.LAUNCHER),
    ],
)
def test_a_file_without_what_it_needs(
    tmp_path: Path, parts: tuple[str, ...], kind: DefectKind
) -> None:
    path = write(tmp_path, "b.D0", *parts)
    assert kind in [d.kind for d in read_events(path).defects]


def test_a_file_of_messages_says_so(tmp_path: Path) -> None:
    record = read_events(write(tmp_path, "b.D0", line("message", "hello")))
    assert "only `message` events" in str(record.defects[0])


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "b.data").mkdir()
    record = read_events(tmp_path / "b.data")
    assert [(d.kind, d.detail) for d in record.defects] == [
        (DefectKind.UNREADABLE, "Is a directory")
    ]


def test_newer_samples_keep_their_time_among_the_devices(tmp_path: Path) -> None:
    data = {"0": {"memory": [5, 9], "load": 0.5, "temperature": 41, "power": None}, "time": 12.5}
    path = write(tmp_path, "b.D0", config("b"), start(), line("data", {"gpudata": data}))
    sample = DeviceSample((5.0, 9.0), 0.5, temperature=41.0, time=12.5)
    assert read_events(path).samples == {"0": [sample]}
    assert kinds(path) == []


@pytest.mark.parametrize("readings", [{"memory": [5, 9]}, {"load": 0.5}, {"power": 9.0}])
def test_a_device_need_not_have_all_sensors(tmp_path: Path, readings: dict[str, object]) -> None:
    """MIG devices tell only their memory, and where CPU and GPU share it, it is not told."""
    path = write(tmp_path, "b.D0", config("b"), start(), line("data", {"gpudata": {"0": readings}}))
    assert len(read_events(path).samples["0"]) == 1
    assert kinds(path) == []


def test_the_problems_of_devices(tmp_path: Path) -> None:
    told = {
        "sentence": "GPU 1 is lost",
        "device": 1,
        "uuid": "GPU-1",
        "is_fault": True,
        "time": 2.5,
    }
    path = write(tmp_path, "b.D0", config("b"), start(), line("device_problem", told))
    assert read_events(path).device_problems == [DeviceProblem(**told)]
    assert kinds(path) == []


@given(st.data())
def test_a_file_that_is_cut_off_anywhere(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Whatever a crash leaves is read: what stands before the cut, and at most one cut line."""
    whole = "".join(
        (config("b"), start(), *(rate(float(i)) for i in range(5)), line("line", "x\n", "stderr"))
    )
    cut = data.draw(st.integers(1, len(whole)))
    path = tmp_path_factory.mktemp("cut") / "b.data"
    path.write_text(whole[:cut])
    record = read_events(path)
    complete = whole[:cut].count("\n")
    assert len(record.rates) in (max(0, min(5, complete - 2)), max(0, min(5, complete - 1)))
    cut_off = [d.line for d in record.defects if d.kind is DefectKind.CUT_OFF]
    assert cut_off in ([], [complete + 1])


@given(st.binary(max_size=200))
def test_no_bytes_make_it_fail(tmp_path_factory: pytest.TempPathFactory, noise: bytes) -> None:
    path = tmp_path_factory.mktemp("noise") / "b.data"
    path.write_bytes(config("b").encode() + noise + b"\n" + rate(3.0).encode())
    record = read_events(path)
    assert list(record.rates.rate) == [3.0]


SCALARS = st.none() | st.booleans() | st.floats() | st.text()


@given(
    st.recursive(
        SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=4
    )
)
def test_no_payload_makes_it_fail(tmp_path_factory: pytest.TempPathFactory, value: object) -> None:
    keys = ("rate", "train_rate", "loss", "gpudata", "memory_peak", "rank", "units", "steps")
    payloads = [line("data", {"task": "train", key: value}) for key in keys]
    events = [line(event, value) for event in ("config", "meta", "start", "end", "error", "stop")]
    path = write(tmp_path_factory.mktemp("odd"), "b", config("b"), *payloads, *events)
    assert len(read_events(path).rates) >= 1


def test_a_whole_number_of_400_digits_among_lines_that_are_alike(tmp_path: Path) -> None:
    numbers = [rate(value) for value in (1.5, 10**400, 2.5)]
    path = write(tmp_path, "b.D0", config("b"), start(10.0), *numbers, end(0, 12.5))
    assert list(read_events(path).rates.rate)[::2] == [1.5, 2.5]
    assert kinds(path) == [(DefectKind.BAD_RATE, 4, 1)]


def test_output_lines(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "b",
        config("b"),
        line("line", "one\n", "stderr"),
        line("line", 'ends in "pipe": "stderr"}\n', "stdout"),
        line("line", 5, "stderr"),
        line("line", "two\n", "stderr"),
        json.dumps({"event": "line", "data": "cut", "pipe": "stderr"})[:-3],
    )
    assert list(output_lines(path, "stderr")) == ["one\n", "two\n"]
    assert list(output_lines(path, "stdout")) == ['ends in "pipe": "stderr"}\n']


@pytest.mark.parametrize("event", ["config", "start", "end"])
def test_what_a_program_once_forged_is_not_taken_for_ours(tmp_path: Path, event: str) -> None:
    """Its lines went through the metrics channel, so they tell that."""
    data = {"name": "another", "time": 5.0, "return_code": 0, "outcome": "ok", "env": {"RANK": "3"}}
    path = write(tmp_path, "b", config("b"), start(), line(event, data, "data"), end(1))
    record = read_events(path)
    assert (record.name, record.own_rank) == ("b", None)
    assert record.end is not None
    assert record.end["return_code"] == 1
    assert [(each.kind, each.detail) for each in record.defects] == [(DefectKind.FORGED, event)]


def test_a_line_without_end_ends_the_file(tmp_path: Path):
    """As the zeros that a file system leaves at the end of a file after a loss of power."""
    path = write(tmp_path, "b.D0", config("b"), start(), rate(1.0))
    whole = read_events(path)
    with path.open("r+b") as file:
        file.truncate(1 << 31)
    assert kinds(path) == [(DefectKind.TOO_LONG, 4, 1)]
    record = read_events(path)
    assert (record.config, record.start) == (whole.config, whole.start)
    assert observations(record.rates) == observations(whole.rates)
