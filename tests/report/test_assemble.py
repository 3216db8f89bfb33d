import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milabench_ddp.errors import RunDirError
from milabench_ddp.events import NO_RATE, NO_USABLE_RATE
from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.faces import report_text
from milabench_ddp.report.formats import FORMATS
from milabench_ddp.report.sweeps.metrics import METRICS
from milabench_ddp.report.sweeps.sweep import sweep_of
from milabench_ddp.report.tables import TABLES
from milabench_ddp.table import csv_text
from tests.support.formats import sweep_csv, sweep_text
from tests.support.result_files import config, end, job, line, rates, start, write, write_state


def test_runs_are_pooled_and_each_counts_once(tmp_path: Path) -> None:
    for name, value in (("one", 10.0), ("two", 20.0)):
        write(tmp_path / name, "b.D0", config("b"), start(), rates([value] * 4), end())
    folders = [tmp_path / "one", tmp_path / "two", tmp_path / "two" / ".." / "one"]
    (row,) = report_of(folders).rows
    assert (row.n, row.perf) == (2, 15.0)
    (same,) = report_of(folders, compat_formulas=True).rows
    assert (same.n, same.perf) == (2, pytest.approx((3 * 10 + 3 * 20) / 6))


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    for name, preset in (("one", "small"), ("two", "full")):
        write_state(tmp_path / name, "ok", {"a": "ok", "b": "ok"}, preset=preset)
    ok = end(0, outcome="ok")
    write(tmp_path / "one", "a.D0", config("a"), start(), rates([1.0, 2.0], units="images/s"), ok)
    write(tmp_path / "one", "a.D1", config("a"), start(), rates([1.0, 2.0]), ok, "{garbled")
    write(tmp_path / "one", "b.D0", config("b"), start(), rates([3.0], warmup=True), ok)
    write(tmp_path / "two", "b.D0", config("b"), start(), ok)
    write(tmp_path / "two", "b.D1", config("b"), start(), rates(50.0 + k for k in range(40)), ok)
    write(tmp_path / "two", "a.D0", config("a"), start(), rates([1.0]), ok)
    one, two = tmp_path / "one", tmp_path / "two"
    made = report_of([one, two], pool=True)
    assert list(made.warnings) == [
        f"{tmp_path}/one/a.D1.data:6: the last line is cut off: ignored",
        f"runs that differ are pooled: preset: small ({one}), full ({two})",
        "a: its rates have several units, so they have no mean: images/s, items/s",
        "b.D1: its rate still rises by 77.0%, from 50.14 to 88.71",
    ]
    assert [(failure.tag, failure.reason) for failure in made.failures] == [
        ("b.D0", f"{NO_USABLE_RATE}: 1 of the warm-up"),
        ("b.D0", NO_RATE),
    ]


def test_the_other_nodes_of_a_torchrun_report_nothing_and_that_is_right(tmp_path: Path) -> None:
    for nodes, folder in ((1, "one"), (2, "two")):
        tag = ["b", "0", "node0"] if nodes > 1 else ["b", "0"]
        settings_ = job("b", 2, nodes, tag=tag)
        write(tmp_path / folder, ".".join(tag), settings_, start(), rates([1.0] * 3), end())
    second = job("b", 2, 2, tag=["b", "0", "node1", "nolog"])
    write(tmp_path / "two", "b.0.node1.nolog", second, start(), end())
    assert report_of([tmp_path / "two"]).warnings == []
    one, two = tmp_path / "one", tmp_path / "two"
    assert report_of([one, two], pool=True).warnings == [
        f"runs that differ are pooled: b.num_machines: 1 ({one}), 2 ({two})",
    ]


def test_devices_of_two_nodes_are_told_apart(tmp_path: Path) -> None:
    for node in ("node0", "node1"):
        for device in (0, 1):
            level = 90.0 if (node, device) == ("node1", 0) else 100.0
            values = [level + 0.1 * (k % 3) for k in range(60)]
            settings_ = config("b", device=device, tag=["b", f"D{device}", node])
            write(tmp_path, f"b.D{device}.{node}", settings_, start(), rates(values), end())
    assert report_of([tmp_path]).warnings == [
        "b: device 0 (node1) is 10.0% slower than the median of the others "
        "(90.1 against 100.1 items/s)",
    ]


def test_a_device_that_is_slow_is_named(tmp_path: Path) -> None:
    for device, level in enumerate((100.0, 101.0, 90.0, 99.0)):
        values = [level + 0.1 * (k % 3) for k in range(60)]
        settings_ = config("b", device=device, tag=["b", f"D{device}"])
        write(tmp_path, f"b.D{device}", settings_, start(), rates(values), end())
    assert report_of([tmp_path]).warnings == [
        "b: device 2 is 10.0% slower than the median of the others (90.1 against 100.1 items/s)",
    ]


def test_devices_that_differ_by_chance_are_not(tmp_path: Path) -> None:
    for device in range(4):
        values = [100.0 * (1 + 0.3 * ((device * 7 + k * 5) % 11 - 5) / 5) for k in range(8)]
        settings_ = config("b", device=device, tag=["b", f"D{device}"])
        write(tmp_path, f"b.D{device}", settings_, start(), rates(values), end())
    assert not [note for note in report_of([tmp_path]).notes if "slower" in note]


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=4
)


def mapping(*keys: str) -> st.SearchStrategy[dict[str, object]]:
    return st.dictionaries(st.sampled_from(keys), VALUES, max_size=3)


DEVICES = st.sampled_from(["0", "time", ""])
NESTED: dict[str, st.SearchStrategy[object]] = {
    "benchmarks": st.lists(mapping("name", "outcome", "reason"), max_size=2),
    "skipped": st.lists(mapping("name", "reason"), max_size=2),
    "suite": st.dictionaries(st.sampled_from(["b", "c"]), mapping("weight")),
    "accelerators": st.fixed_dictionaries({"gpus": st.dictionaries(DEVICES, mapping("product"))}),
    "gpudata": st.dictionaries(DEVICES, mapping("memory", "load", "power")),
    "plan": mapping("method", "n"),
    "matrix": mapping("nodes", "backend", "breaks", "model", "scaling"),
    "step_times": mapping("rank", "ms", "wait_ms"),
    "shares": mapping("forward", "data"),
    "part_ms": mapping("forward", "data"),
    "model": mapping("mode", "step_ms", "tflops_per_gpu"),
    "comm": mapping("op", "bytes", "bus_gb_s", "ranks"),
    "comm_fit": mapping("op", "alpha_us"),
    "sweep": mapping("m", "dtype", "tflop_s"),
}
CONFIG_KEYS = (
    *("tag", "plan", "device", "devices", "num_machines", "weight", "enabled", "arch"),
    *("matrix", "argv", "scaling", "group"),
)
META_KEYS = ("cpu", "os", "accelerators", "milabench", "pytorch")
END_KEYS = ("time", "return_code", "outcome", "reason")
RUN_KEYS = (
    *("schema", "name", "created", "preset", "suite", "skipped", "benchmarks", "outcome", "ended"),
    *("machine", "jobs"),
)
STATE_KEYS = ("name", "status", "reason", "started", "ended", "launches", "nodes", "interrupted")
DATA_KEYS = (
    *("rate", "loss", "gpudata", "memory_peak", "rank", "units", "steps", "warmup"),
    *("step_times", "shares", "part_ms", "model", "comm", "comm_fit", "sweep"),
)


@pytest.mark.parametrize("created", [-6.8e16, 1e15, None])
def test_a_time_that_no_calendar_has(tmp_path: Path, created: float | None) -> None:
    write_state(tmp_path, "ok", {"b": "ok"}, created=created)
    write(tmp_path, "b.D0", config("b"), start(2000.0), rates([1.0, 2.0]), end(time=2060.0))
    assert ", 1970-01-01 00:33:20 UTC, 1 min 0 s\n" in report_text(report_of([tmp_path]), 1000)


@settings(max_examples=60)
@given(st.data())
def test_whatever_the_files_say_there_is_a_report(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    def some(keys: tuple[str, ...]) -> dict[str, object]:
        chosen = data.draw(st.sets(st.sampled_from(keys), max_size=3))
        return {key: data.draw(VALUES | NESTED.get(key, VALUES)) for key in sorted(chosen)}

    folder = tmp_path_factory.mktemp("odd")
    write_state(folder, "ok", {"b": "ok"})
    for path, keys in ((folder / "run.json", RUN_KEYS), (folder / "b/state.json", STATE_KEYS)):
        path.write_text(json.dumps({**json.loads(path.read_text()), **some(keys)}))
    own = some(CONFIG_KEYS)
    write(
        folder,
        "b.D0",
        config("b", **own),
        line("meta", some(META_KEYS)),
        start(),
        rates([1.0, 2.0]),
        *(line("data", {"task": "train", **some(DATA_KEYS)}) for _ in range(3)),
        line("error", some(("rank", "type", "message", "trace"))),
        line("end", some(END_KEYS)),
    )
    schemas = json.loads((folder / "run.json").read_text()).get("schema"), own.get("schema")
    if any(
        isinstance(each, int) and each > most for each, most in zip(schemas, (2, 4), strict=True)
    ):
        with pytest.raises(RunDirError, match="was written by a newer milabench"):
            report_of([folder])
        return
    for compat in (False, True):
        made = report_of([folder], compat_formulas=compat, weights={"b": 1.0})
        for format in FORMATS:
            assert FORMATS[format].report(made)
    made = report_of([folder])
    for make in TABLES.values():
        csv_text(make(made.rows))
    for metric in (*METRICS, "efficiency"):
        assert sweep_csv(sweep_of(made, metric))
        assert sweep_text(sweep_of(made, metric))


def test_a_run_of_schema_1_on_several_nodes(tmp_path: Path) -> None:
    """run.json has the states, as outcomes; a benchmark on several nodes has its own file."""
    write_state(tmp_path, "failed", dict.fromkeys("abc", "waiting"))
    outcomes = {"a": "ok", "b": "waiting", "c": "waiting"}
    listed = [{"name": name, "outcome": each, "reason": ""} for name, each in outcomes.items()]
    run = json.loads((tmp_path / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps({**run, "schema": 1, "benchmarks": listed}))
    (tmp_path / "b").mkdir()
    state = {"name": "b", "outcome": "failed", "reason": "node1: exit status 3", "cut_short": False}
    (tmp_path / "b" / "state.json").write_text(json.dumps(state))
    write(tmp_path, "a.D0", config("a"), start(), rates([1.0]), end(0, outcome="ok"))
    write(tmp_path, "b.0.node0", job("b", 2, 2), start(), rates([1.0]), end(0, outcome="ok"))
    made = report_of([tmp_path])
    assert [(f.benchmark, f.outcome, f.reason) for f in made.failures] == [
        ("b", "failed", "node1: exit status 3"),
        ("c", "not begun", "the run ended before it began"),
    ]
    assert [(row.name, row.fail, row.n) for row in made.rows] == [
        ("a", 0, 1),
        ("b", 1, 1),
        ("c", 1, 0),
    ]
