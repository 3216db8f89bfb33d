"""What is run on one GPU: all that it can run, each once, the first of it within a command."""

import re

import pytest

from milabench_ddp.config.load import SuiteRequest, load
from perf.gpu_check import expected
from perf.gpu_check.parts import FIRST, PARTS
from tests.support.package_copy import REPOSITORY


@pytest.fixture(scope="module")
def seconds():
    steps = [step for part in PARTS.values() for step in part("cuda", REPOSITORY) if step.run]
    return {step.run: expected.benchmarks(step) for step in steps}


def test_every_file_that_a_step_names_is_there():
    for part in PARTS.values():
        for step in part("cuda", REPOSITORY):
            for path in re.findall(r"(?:config|perf|tests)/[\w/.]+", " ".join(step.argv)):
                assert (REPOSITORY / path).exists()


def test_all_that_one_gpu_can_run_is_run_once(seconds):
    config = str(REPOSITORY / "config" / "ddp.yaml")
    suite = load(SuiteRequest(config, preset="full"), expected.H200)
    assert set(seconds["full"]) == set(FIRST)
    assert not seconds["full"].keys() & seconds["rest"].keys()
    assert seconds["full"].keys() | seconds["rest"].keys() == {b.name for b in suite.benchmarks}


def test_a_benchmark_takes_its_steps_or_its_seconds():
    words = "--m 8192 --n 8192 --dtype bf16 --number 30 --repeat 20 --warmup 10"
    step = 2 * 8192**3 * 30 / 785e12
    assert expected.seconds("flops", words.split()) == pytest.approx(expected.START + 30 * step)
    longer = expected.seconds("flops", [*words.split(), "--seconds", "30"])
    assert longer == pytest.approx(expected.START + 3 + 30)


def test_the_order_is_that_of_worth(seconds):
    assert list(seconds) == ["full", "rest", "compile", "tiny"]
    before = sum(expected.SCRIPTS[title] for title in list(expected.SCRIPTS)[:2])
    assert before + sum(seconds["full"].values()) < 540 - 60
