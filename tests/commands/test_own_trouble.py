"""A suite with an error in one benchmark: it fails with the reason, the others are measured."""

import os
import resource
from functools import partial

import msgspec
import pytest

from milabench_ddp.results.read_run import read_run
from tests.support.wait import PATIENCE
from tests.support.workplace import EMIT, GOOD, Done, Suite, Workplace

ONE_SLOT = ("--device", "cpu", "--gpus", "1", "--gpu-poll", "0", "--name", "mine")
# Each key that we know, with each type of JSON, and numbers that are none, or of 400 digits.
HOSTILE = (
    EMIT
    + r"""
LONG = "9" * 400
VALUES = ["null", "true", "-1", "0", "1e400", "-1e400", "NaN", LONG, "-" + LONG, "0." + LONG,
    '""', '"x"', '"\\ud800"', '"\\u0000"', "[]", "[1]", "{}", '{"0": 1}', '{"\\udc00": []}',
    "[[1, %s], %s]" % (LONG, LONG), '{"0": {"load": %s, "memory": [%s, 1]}}' % (LONG, LONG),
    "[" * 150 + "]" * 150]
KEYS = ["task", "rate", "train_rate", "units", "warmup", "rank", "step", "steps", "time", "elapsed",
    "arrived", "loss", "gpudata", "hostdata", "step_times", "part_ms", "shares", "startup", "node",
    "garbage_collections", "buckets", "first_bucket", "overlap_slowdown", "device", "memory_peak",
    "compute_dtype", "model", "correctness", "comm", "comm_fit", "sweep", "bandwidth", "pair",
    "flop_per_step", "other", "$event", "$data"]
EVENTS = ["phase", "stop", "error", "overseer_error", "message", "ready", "begin", "data", "no"]
lines = ["[" * 5000, "{", "\udcff", "1", "[]", '"x"', LONG, '{"a":' * 5000]
for value in VALUES:
    for key in KEYS:
        lines.append('{"%s": %s}' % (key, value))
        lines.append('{"task": "train", "rate": 1.0, "units": "x", "%s": %s}' % (key, value))
    for event in EVENTS:
        if event != "stop":
            lines.append('{"$event": "%s", "$data": %s}' % (event, value))
            for key in ("time", "rank", "message", "type", "trace", "skip"):
                lines.append('{"$event": "%s", "$data": {"%s": %s}}' % (event, key, value))
with open(os.environ["MILABENCH_METRICS"], "wb", buffering=0) as channel:
    for line in lines:
        channel.write(line.encode("utf-8", "surrogateescape") + b"\n")
"""
)
FORGED = [
    {"$event": "config", "$data": {"name": "second", "tag": ["second"], "weight": 100}},
    {"$event": "meta", "$data": {"node": "elsewhere"}},
    {"$event": "start", "$data": {"time": 1.0, "env": {"RANK": "7"}}},
    {"$event": "end", "$data": {"return_code": 0, "outcome": "ok", "reason": ""}},
    {"$event": "line", "$data": "said by nobody"},
    {"$event": "device_problem", "$data": {"sentence": "it fell off the bus", "is_lost": True}},
    {"$event": "writers", "$data": {"ranks": [0, 1], "opened": 2}},
    {"$event": "binary", "$data": "x"},
    {"gpudata": {"0": {"memory": [1.0, 2.0], "load": 1.0}}},
    {"hostdata": {"cpu": 1.0}},
]


def run(at: Workplace, suite: Suite, **programs: str) -> Done:
    return at.milabench("run", suite(**programs), *ONE_SLOT)


def test_no_line_of_metrics_ends_the_suite_or_its_report(at: Workplace, suite: Suite):
    done = run(at, suite, hostile=HOSTILE, good=GOOD)
    assert (done.code, at.statuses()) == (1, {"hostile": "failed", "good": "ok"})
    assert "Traceback" not in done.err
    assert "not shown whole" not in done.err
    for words in (["--format", "json"], ["--format", "html"]):
        told = at.milabench("report", str(at.run()), *words)
        assert (told.code, told.err) == (1, "")
        assert "good" in told.out
        assert "no report can be made" not in told.out
        assert "the search for" not in told.out


def test_a_program_cannot_forge_what_only_we_write(at: Workplace, suite: Suite):
    forges = f"{GOOD}\nfor line in {FORGED!r}: emit(**line)\nsys.exit(3)"
    done = run(at, suite, first=forges, second=GOOD)
    assert (done.code, at.statuses()) == (1, {"first": "failed", "second": "ok"})
    found = read_run(at.run())
    assert [(each.name, each.tag) for each in found.records] == [
        ("first", "first.D0"),
        ("second", "second.D0"),
    ]
    first = found.records[0]
    assert (first.own_rank, first.node, first.end) == (None, "", first.end)
    assert first.end is not None
    assert first.end["outcome"] == "failed"
    assert (first.device_problems, first.samples, first.host) == ([], {}, [])
    assert first.told.writers == set()
    assert [str(each.kind) for each in found.defects] == [
        "the program sent a line of metrics that is not an event"
    ]
    assert found.defects[0].count == 8


def test_half_a_pair_of_surrogates_can_be_reported(at: Workplace, suite: Suite):
    says = (
        EMIT
        + r"""
rate(1.0, note="\ud800", **{"\udfff": 1.0})
emit(**{"$event": "error", "$data": {"type": "ValueError", "message": "no \udc80 here"}})
sys.exit(1)"""
    )
    done = run(at, suite, one=says, good=GOOD)
    assert (done.code, at.statuses()) == (1, {"one": "failed", "good": "ok"})
    assert r"no \udc80 here" in done.out
    told = at.milabench("report", str(at.run()), "--format", "json")
    assert (told.code, told.err) == (1, "")
    assert msgspec.json.decode(told.out)  # which takes no half of a pair


@pytest.mark.parametrize("full", [False, True])
def test_a_standard_error_without_a_reader_does_not_end_the_run(
    at: Workplace, suite: Suite, full: bool
):
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as gone, open("/dev/full", "w") as full_disk:
        process = at.start(
            "run", suite(bad="1 / 0", good=GOOD), *ONE_SLOT, stderr=full_disk if full else gone
        )
    out, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, at.statuses()) == (1, {"bad": "failed", "good": "ok"})
    assert "ZeroDivisionError" in out


def test_too_few_file_descriptors(at: Workplace, suite: Suite):
    """From the second benchmark on: some too few to start it, but enough to say why."""
    limits = """
import resource
pid = os.getpid()
while b"milabench_ddp\\0run" not in open(f"/proc/{pid}/cmdline", "rb").read():
    pid = int(open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[1])
hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
resource.prlimit(pid, resource.RLIMIT_NOFILE, (len(os.listdir(f"/proc/{pid}/fd")) - 3, hard))
"""
    done = run(at, suite, first=GOOD + limits, second=GOOD, third=GOOD)
    assert (done.code, at.statuses()) == (1, {"first": "ok", "second": "failed", "third": "failed"})
    assert "Too many open files" in at.state().benchmarks["second"].reason
    assert "Traceback" not in done.err


def test_a_launch_that_the_host_does_not_let_begin(
    at: Workplace, suite: Suite, monkeypatch: pytest.MonkeyPatch
):
    """One has too long an environment, another has no folder for temporary files any more."""
    place = at.folder / "tmp"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    renames = f"{GOOD}\nos.rename({str(place)!r}, {str(place)!r} + '2')"
    config = at.folder / suite(long=GOOD, good=renames, homeless=GOOD)
    long = ", ".join(f"LONG{k}: {'x' * 130_000}" for k in range(17))
    config.write_text(config.read_text().replace("{", "{env: {" + long + "}, ", 1))
    done = at.milabench("run", config.name, *ONE_SLOT)
    found = at.state().benchmarks
    assert (done.code, at.statuses()) == (1, {"long": "failed", "good": "ok", "homeless": "failed"})
    assert "Argument list too long" in found["long"].reason
    assert f"No such file or directory: {place}" in found["homeless"].reason


def test_traces_that_cannot_be_made_do_not_change_the_end_of_the_run(at: Workplace, suite: Suite):
    blocks = f"{GOOD}\nopen({str(at.run() / 'traces')!r}, 'w').close()"
    done = at.milabench("run", suite(one=blocks), *ONE_SLOT, "--profile", "always")
    assert (done.code, at.statuses()) == (0, {"one": "ok"})
    why = f"milabench: no traces: cannot make {at.run() / 'traces'}: a file is in the way"
    assert done.err.splitlines()[-1].startswith(why)


def test_too_small_a_limit_for_files(at: Workplace, suite: Suite):
    """What is handed to the keeper is a file, too, of which the limit cuts off the end."""
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (4096, 4096))
    words = ("run", suite(first=GOOD, second=GOOD), "--device", "cpu", "--gpus", "2")
    with at.start(*words, "--name", "mine", preexec_fn=limit) as process:
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, at.statuses()) == (1, {"first": "failed", "second": "failed"})
    assert "Traceback" not in out + err
    assert "File too large" in at.state().benchmarks["second"].reason
