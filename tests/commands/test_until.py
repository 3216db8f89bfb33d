"""``run --until``, ``--shuffle`` and ``--seed``, from the command line to the report."""

import json
import re
from pathlib import Path

import pytest

from milabench_ddp.cli import main
from milabench_ddp.report.assemble import report_of
from tests.support.workplace import GOOD, Suite, Workplace

ONE_SLOT = ("--device", "cpu", "--gpus", "1")


def started(run: Path) -> list[str]:
    """The launches of a run, as `` one R0``, by when their processes began."""
    begun = {}
    for path in run.glob("*.data"):
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            if entry["event"] == "start":
                begun[" ".join(path.name.split(".")[:2])] = entry["data"]["time"]
    return sorted(begun, key=lambda name: begun[name])


def in_script(script: str) -> list[str]:
    return re.findall(r"^echo '(\w+ R\d+)'$", script, re.MULTILINE)


def test_launches_that_are_alike_are_few_and_the_report_says_how_sure_they_are(
    at: Workplace,
    suite: Suite,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = suite(one=GOOD, two=GOOD)
    words = (config, *ONE_SLOT, "--until", "3%", "--shuffle", "--seed", "7")
    monkeypatch.chdir(at.folder)
    assert main(["dry", *words]) == 0
    script = capsys.readouterr().out
    assert "# in random order: --shuffle --seed 7" in script
    assert "# --until 3%: `run` makes 6 to 20 launches of each benchmark" in script
    done = at.milabench("run", *words, "--name", "mine")
    assert done.code == 0, done.err
    assert "in random order: --shuffle --seed 7" in done.err
    assert "6 to 20 launches of each, until ±3%: the first ones tell how long" in done.err
    assert re.search(r"one: 1 launch; at least 5 more for ±3%, \d", done.err)
    assert "one: ±3% after 6 launches" in done.err
    assert started(at.run()) == in_script(script)[:12]
    assert at.state().header.seed == 7
    assert "\nOrder    random: --shuffle --seed 7\n" in done.out
    for row in report_of([at.run()]).rows:
        interval = row.interval
        assert interval is not None
        assert (interval[1] - interval[0]) / 2 == pytest.approx(0.03 * row.perf)
        assert row.interval_holds == ("the mean rate over 6 launches, made until it was ±3%")


def test_what_contradicts_itself_is_refused(
    at: Workplace,
    suite: Suite,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(at.folder)
    config = suite(one=GOOD)
    slurm = ("--runner", "slurm", "--gpus-per-node", "1", "--allocation", "separate")
    refused = {
        ("--seed", "3"): "--seed is of a random order: add --shuffle",
        ("--until", "1%", "--repeat", "5"): "--until needs at least 6 launches: give --repeat 6",
        ("--shuffle", *slurm): "--shuffle: with a job for each benchmark, Slurm decides",
    }
    for verb in ("dry", "run"):
        for words, said in refused.items():
            assert main([verb, config, *ONE_SLOT, "--base", str(at.folder), *words]) == 2
            assert said in capsys.readouterr().err
