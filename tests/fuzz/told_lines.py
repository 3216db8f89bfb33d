"""Lines of a program, good and hostile, through the real supervisor, writer, reader and report."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from milabench_ddp.codec import write_record
from milabench_ddp.events import Outcome, Status
from milabench_ddp.launch.node_run import LaunchRunner, SampleRouter
from milabench_ddp.launch.stop_requests import StopRequests
from milabench_ddp.plan.launch import Launch, Process
from milabench_ddp.results.read_run import read_run
from milabench_ddp.results.run_dir import RunDir
from milabench_ddp.results.state import BenchmarkState
from milabench_ddp.results.write import DataHeader
from milabench_ddp.visible import visible
from tests.fuzz.command import milabench
from tests.fuzz.mutated import UNSEEN, spoilt
from tests.support.launches import benchmark
from tests.support.result_files import write_state

PROGRAM = 'cat "$0" > "$MILABENCH_METRICS"; cat "$1"; cat "$2" >&2; exit "$3"'
MOST = 60_000  # bytes of metrics: they are in the pipe at once, so that nothing cuts them short
# Our own events and voir's, which a program may name.
EVENTS = (
    "config", "meta", "start", "end", "data", "line", "stop", "error", "phase", "message",
    "writers", "device_problem", "format_error", "binary", "overseer_error", "ready", "begin", "",
)  # fmt: skip
FORGED: Sequence[Any] = (
    {"name": "other", "tag": ["other", "D0"], "plan": {"method": "njobs", "n": 9}, "weight": 9},
    {"name": "b", "tag": ["b", "D1"], "devices": [1], "schema": 999},
    {"time": 5.0, "return_code": 0, "outcome": "ok", "reason": "", "command": []},
    {"time": -1e308, "return_code": -9, "outcome": "lost", "reason": "\n\nforged: lost"},
    {"ranks": [0, 1], "opened": 7},
    {"skip": True, "message": "it lacks\na GPU"},
    {"type": "E", "message": "x" * 3000, "rank": 10**40, "trace": "\x1b]0;x\x07"},
    {"device": 0, "kind": "xid", "time": "now"},
    {"time": True},
    *(None, [], "text", 5, [[]], {"": {}}),
)
# Everything that programs and monitors tell, with good values.
PAYLOADS: Sequence[dict[str, Any]] = (
    {"task": "train", "rate": 5.5, "units": "items/s", "rank": 0, "step": 1, "time": 5.0},
    {"task": "train", "rate": 5.5, "elapsed": 1.0, "warmup": True, "steps": 3, "arrived": 9.0},
    {"task": "train", "train_rate": 1.0, "loss": 0.5, "progress": [1, 2]},
    {"step_times": {"rank": 0, "from": 0, "ms": [1.0, 2.0], "wait_ms": [0.0, 0.0]}},
    {"step_times": {"rank": 1, "ms": [1], "wait_ms": [0], "parts": {"forward": [0.5]}}},
    {"rank": 0, "memory_peak": [5.0, 9.0], "node": "n0", "startup": {"import_s": 1.5}},
    {"rank": 0, "shares": {"forward": 0.5}, "part_ms": {"forward": [1.0, 0.1]}},
    {"rank": 0, "buckets": [{"bytes": 4096, "ready_ms": 1.5, "ms": 2.0, "hidden_ms": 0.5}]},
    {"rank": 0, "garbage_collections": {"ms": 1.0, "full_ms": 1.0}},
    {"model": {"mode": "ddp", "tflops_per_gpu": 30.0, "layers": 3}, "compute_dtype": "bf16"},
    {"comm": {"operation": "all_reduce", "bytes": 1024, "us": 9.0}, "units": "\x1b[2J"},
    {"pair": {"ranks": [0, 1], "gb_s": 5.0, "nodes": ["n0", "n1"]}},
    {"task": "main", "gpudata": {"0": {"memory": [1.0, 2.0], "load": 0.5, "power": 300.0}}},
    {"task": "main", "hostdata": {"time": 5.0, "cpu": 0.5, "memory": [5.0, 9.0]}},
    {"device": {"name": "GPU", "index": 0}, "rank": 0},
)
_KEYS = sorted({key for payload in PAYLOADS for key in payload})
ODD_JSON = (
    *("1" + "0" * 400, "-" + "9" * 5000, "1e400", "NaN", "-Infinity", "1e-400", "0.1e1", "-0"),
    *('"\\ud800"', '"\\u0000"', "[" * 2000 + "]" * 2000, '{"":' * 300 + "1" + "}" * 300, '""'),
    *("[]", "{}", "null", "true", '"nan"', '"5.5"', "[1]", "[[1]]", "18446744073709551616"),
    *('"' + "x" * 5000 + '"', json.dumps("".join(UNSEEN)), '"a\\nb"'),
)  # fmt: skip


@dataclass(frozen=True)
class Told:
    """What a program writes: to its metrics channel, between good rates; and to its output."""

    metrics: tuple[bytes, ...]
    out: bytes = b""
    err: bytes = b""
    code: int = 0


plain = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=6)),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=3)
    ),
    max_leaves=6,
)  # fmt: skip


def _stated(payload: dict[str, Any], key: str, value: str) -> bytes:
    """A payload whose value of a key is another one, or one deeper in it."""
    found = dict(payload)
    inner = found.get(key)
    if isinstance(inner, dict) and inner:
        found[key] = {**inner, sorted(inner)[0]: "@"}
    else:
        found[key] = "@"
    return json.dumps(found).replace('"@"', value).encode(errors="surrogatepass")


hostile = st.one_of(
    st.builds(
        _stated, st.sampled_from(PAYLOADS), st.sampled_from(_KEYS), st.sampled_from(ODD_JSON)
    ),
    st.builds(
        lambda name, data: json.dumps({"$event": name, "$data": data}).encode(),
        st.sampled_from(EVENTS) | st.text(max_size=4),
        st.sampled_from(FORGED) | plain,
    ),
    st.builds(
        lambda name, data: json.dumps({"event": name, "data": data, "pipe": "data"}).encode(),
        st.sampled_from(EVENTS),
        st.sampled_from(FORGED),
    ),
    st.dictionaries(st.sampled_from(_KEYS), plain, max_size=4).map(
        lambda made: json.dumps(made).encode()
    ),
    spoilt([json.dumps(payload) for payload in PAYLOADS]),
    st.sampled_from(ODD_JSON).map(str.encode),
    st.binary(max_size=30),
)  # fmt: skip
outputs = st.one_of(
    st.binary(max_size=60),
    st.sampled_from(UNSEEN).map(lambda odd: f"a{odd}b\n".encode()),
    st.sampled_from([b"x" * 200_000, b"\n" * 5000, b"Traceback (most recent call last):\nE: x\n"]),
    st.sampled_from([b"elastic: exitcode: -9\n", b"CUDA out of memory\n", b"\xff\n"]),
)  # fmt: skip
cases = st.builds(
    Told,
    st.lists(hostile, max_size=5).map(tuple),
    outputs,
    outputs,
    st.sampled_from([0, 0, 1, 200]),
)


def check(told: Told, folder: Path) -> None:
    """Every good rate is read, a neighbour's are untouched, and reports tell of no other."""
    lines = list(told.metrics)
    while sum(map(len, lines)) > MOST:
        lines.pop()
    good = [1e6 + k + 0.5 for k in range(len(lines) + 1)]
    pieces = [_rate(good[0])]
    for value, line in zip(good[1:], lines, strict=True):
        pieces += [line.replace(b"\n", b"\r"), b"\n", _rate(value)]
    neighbour = [2e6 + k for k in range(5)]
    run = RunDir(folder / "runs" / "r")
    run.benchmark("b").mkdir(parents=True)
    launch = Launch(
        benchmark(max_duration=200.0),
        None,
        (
            _process(folder, 0, b"".join(pieces), told.out, told.err, told.code),
            _process(folder, 1, b"".join(map(_rate, neighbour)), b"", b"", 0),
        ),
    )
    requests = StopRequests()
    runner = LaunchRunner(run, DataHeader("r", "cpu", {}), SampleRouter(), os.environ, 5.0)
    try:
        state = runner.run(launch, requests, lambda _: None)
    finally:
        requests.close()
    write_state(run.path, state.outcome, {"b": state.outcome})
    ended = BenchmarkState("b", Status(state.outcome), state.reason, launches=[state])
    write_record(run.state_json("b"), ended)
    first, second = read_run(run.path).records
    assert [told for told in first.rates.rate if told in good] == good, "good rates are lost"
    assert list(second.rates.rate) == neighbour, "a neighbour's rates are others"
    assert state.processes[1].outcome is Outcome.OK, "a neighbour's outcome is another"
    assert (first.tag, second.tag) == ("b.D0", "b.D1")
    names = {path.name.partition(".")[0] for path in run.path.iterdir()}
    assert names <= {"b", "run", ""}, f"files of others: {names}"
    _check_reports(run, state.outcome)


def _check_reports(run: RunDir, outcome: Outcome) -> None:
    said = milabench("report", str(run.path), "--format", "json")
    assert said.code in (0, 1), said.err
    document = json.loads(said.out)
    assert [row["name"] for row in document["benchmarks"]] in (["b"], []), "another benchmark"
    text = milabench("report", str(run.path))
    assert text.code == said.code, f"{text.code} and {said.code}"
    assert text.code == (0 if outcome in (Outcome.OK, Outcome.SKIPPED) else 1), text.out
    assert visible(text.out) == text.out, f"unseen characters: {text.out[-3000:]!a}"
    assert len(text.out) < 100_000, f"a report of {len(text.out)} characters"


def _rate(value: float) -> bytes:
    return json.dumps({"task": "train", "rate": value, "units": "items/s"}).encode() + b"\n"


def _process(folder: Path, index: int, *contents: bytes | int) -> Process:
    words = []
    for name, content in zip(("metrics", "out", "err"), contents[:3], strict=True):
        assert isinstance(content, bytes)
        path = folder / f"{name}.{index}"
        path.write_bytes(content)
        words.append(str(path))
    argv = ("/bin/sh", "-c", PROGRAM, *words, str(contents[3]))
    return Process(("b", f"D{index}"), argv, {}, 0, (index,))
