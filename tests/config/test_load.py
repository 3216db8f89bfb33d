"""The whole way: files and words in, a suite or one clear sentence out."""

from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.commands.resolve import to_yaml
from milabench_ddp.config.load import SuiteRequest, load, resolve
from milabench_ddp.config.schema import SkipKind, SkippedBenchmark
from milabench_ddp.errors import ConfigError, MilabenchError, SelectionError
from tests.support.configuration import facts, resolved, suite, write

pytestmark = pytest.mark.usefixtures("here")

BASE = """
    _defaults:
      max_duration: 600
      voir: {options: {stop: 60, interval: 1s}}
      num_machines: 1

    _torchvision:
      inherits: _defaults
      definition: ../prog
      group: torchvision
      install_group: torch
      plan: {method: per_gpu}
      tags: [vision]
      argv:
        --precision: tf32-fp16
        --no-stdout: true
        --num-workers: "auto({n_worker}, 8)"
        --batch-size: auto_batch(64)
        --data: "{milabench_data}/FakeImageNet"
      presets:
        small: {argv: {--batch-size: 2}, max_duration: 20}

    resnet50:
      inherits: _torchvision
      tags: [resnet]
      argv: {--model: resnet50}

    resnet50-nodes:
      inherits: resnet50
      tags: [multinode]
      plan: {method: njobs, n: 1}
      num_machines: 2
      requires_capabilities: ["len(nodes) >= ${..num_machines}"]
"""
MAIN = """
    include: config/base.yaml

    "*":
      env: {NCCL_DEBUG: WARN}

    resnet50:
      weight: 2
      argv: {--no-stdout: ~}

    sweep:
      matrix: {loader: [torch, synthetic]}
      job:
        name: resnet50-{loader}
        inherits: resnet50
        weight: 0.5
        argv: {--loader: '{loader}'}
"""


def test_a_suite_of_several_files() -> None:
    write("config/base.yaml", BASE)
    found = suite(MAIN, overrides=("resnet50-torch.argv.--lr=0.1",))
    assert found.path == Path("x.yaml")
    assert [b.name for b in found.benchmarks] == [
        "resnet50",
        "resnet50-torch",
        "resnet50-synthetic",
    ]
    assert [s.name for s in found.skipped] == ["resnet50-nodes"]
    assert found.benchmarks[1].argv == (
        "--precision", "tf32-fp16", "--num-workers", "8", "--batch-size", "64",
        "--data", "/base/data/FakeImageNet", "--model", "resnet50", "--loader", "torch",
        "--lr", "0.1",
    )  # fmt: skip
    assert found.benchmarks[1].env == {"NCCL_DEBUG": "WARN"}
    assert found.benchmarks[1].record["matrix"] == {"loader": "torch"}
    assert [b.weight for b in found.benchmarks] == [2.0, 0.5, 0.5]


def test_what_resolve_prints_resolves_to_itself() -> None:
    write("config/base.yaml", BASE)
    write("x.yaml", MAIN)
    first = resolve(SuiteRequest("x.yaml", preset="small"), facts())
    tables = {name: result.entry for name, result in first.benchmarks.items()}
    assert resolved(to_yaml(tables, explain=False)) == resolved(to_yaml(tables, explain=True))
    again = resolve(SuiteRequest("x.yaml"), facts())
    printed = to_yaml({k: a.entry for k, a in again.benchmarks.items()}, explain=False)
    assert printed == to_yaml(tables, explain=False)


def test_a_suite_may_select_nothing_that_can_run() -> None:
    write("config/base.yaml", BASE)
    found = suite(MAIN, select=("multinode",))
    assert found.benchmarks == ()
    assert len(found.skipped) == 4


def test_a_folder_that_is_missing_matters_only_where_it_would_run() -> None:
    """Then it is not run, with the reason; the rest of the file is."""
    text = "a: {program: main.py, plan: {method: per_gpu}}\n"
    text += "b: {definition: bench/b, plan: {method: per_gpu}}"
    found = suite(text)
    assert [b.name for b in found.benchmarks] == ["a"]
    reason = "no such file: bench/b/main.py (definition in x.yaml:2)"
    assert found.skipped == (SkippedBenchmark("b", reason, SkipKind.UNABLE),)
    planned = load(SuiteRequest("x.yaml"), facts(), without_programs=True)
    assert [b.name for b in planned.benchmarks] == ["a", "b"]
    assert planned.warnings == (f"b cannot run here: {reason}",)


def test_a_program_that_is_missing_is_a_mistake_only_where_it_would_run() -> None:
    text = "a: {program: mian.py, enabled: false, plan: {method: per_gpu}}"
    with pytest.raises(ConfigError) as error:
        suite(text)
    reason = "no such file: mian.py (program in x.yaml:1)"
    assert str(error.value) == f"{reason}: did you mean `main.py`?"
    planned = load(SuiteRequest("x.yaml", select=("a",)), facts(), without_programs=True)
    assert planned.warnings == (f"a cannot run here: {reason}",)


def test_what_milabench_takes_is_told() -> None:
    """The last of two keys counts; the runs of its sizing have no effect."""
    write("base.yaml", "b: {program: main.py, plan: {method: per_gpu}, weight: 1, weight: 2}")
    text = "include: [base.yaml, base.yaml]\nmultirun: {runs: [{name: bs}]}"
    found = suite(text)
    assert [(b.name, b.weight) for b in found.benchmarks] == [("b", 2)]
    assert found.warnings == (
        "key `weight` in base.yaml:1 is stated twice, first in base.yaml:1: the last one counts, "
        "as in milabench",
        "`multirun` in x.yaml:2 has no effect: its `runs` are for milabench's own sizing",
    )


BAD: list[tuple[str, dict[str, Any], type[MilabenchError], str]] = [
    ("a: {wei\n", {}, ConfigError,
     "x.yaml:2: invalid YAML: did not find expected ',' or '}' "
     "while parsing a flow mapping, which begins on line 1: close the bracket"),
    ("", {}, ConfigError,
     "x.yaml: defines no benchmark (a name that begins with `_` is a template): "
     "`milabench new NAME` writes one"),
    ("_a: {}", {}, ConfigError,
     "x.yaml: defines no benchmark (a name that begins with `_` is a template): "
     "`milabench new NAME` writes one"),
    ("include: x.yaml", {}, ConfigError,
     "include loop: x.yaml -> x.yaml"),
    ("a: {inherits: b}\nb: {inherits: a}", {}, ConfigError,
     "inherit cycle: a -> b -> a (x.yaml:1)"),
    ("a: {inherits: _bass}\n_base: {}", {}, ConfigError,
     "unknown parent `_bass` of `a` in x.yaml:1: did you mean `_base`?"),
    ("s: {matrix: {m: a/b}, job: {name: 's-{m}'}}", {}, ConfigError,
     "`s-a/b` in x.yaml:1 cannot name a benchmark: "
     "a name is letters, digits and any of `_ . + = @ -`, a letter, digit or `_` first"),
    (f"{'a' * 151}: {{}}", {}, ConfigError,
     f"`{'a' * 40} [... 71 more characters ...] {'a' * 40}` in x.yaml:1 cannot name a benchmark: "
     "a name has at most 150 bytes, this one has 151"),
    ("a:\n  max_durtion: 3", {}, ConfigError,
     "unknown key `max_durtion` in x.yaml:2: did you mean `max_duration`?"),
    ("_t:\n  max_durtion: 3\na: {}", {}, ConfigError,
     "unknown key `max_durtion` in x.yaml:2: did you mean `max_duration`?"),
    ("a:\n  max_duration: ten", {}, ConfigError,
     "wrong value for `max_duration` in x.yaml:2: "
     "expected a number of seconds, up to 2,000,000, got the text `ten`"),
    ("a:\n  argv:\n    --x: '{n_wrker}'", {}, ConfigError,
     "unknown placeholder `{n_wrker}` in x.yaml:3: did you mean `n_worker`?"),
    ("a:\n  argv:\n    --x: {n_worker}", {}, ConfigError,
     "wrong value for `--x` in x.yaml:3: expected a single value, "
     "got a mapping (a placeholder needs quotes: '{n_worker}')"),
    ("a:\n  argv:\n    --x: false", {}, ConfigError,
     "`--x: false` in x.yaml:3: use null to drop an option"),
    ("a: {}", {"select": ("b",)}, SelectionError,
     "--select b: no benchmark, group or tag of that name"),
    ("resnet: {}", {"exclude": ("resnt",)}, SelectionError,
     "--exclude resnt: no benchmark, group or tag of that name: did you mean `resnet`?"),
    ("a: {}", {"preset": "ful"}, SelectionError,
     "--preset ful: no benchmark has a preset of that name: did you mean `full`?"),
    ("s: {matrix: {n: [1, 2]}, job: {name: a}}", {}, ConfigError,
     "two benchmarks are named `a`: the name in x.yaml:1 must differ for each combination"),
    ("a: {program: main.py}", {}, ConfigError,
     "`a` in x.yaml:1 has no plan: "
     "add `plan: {method: per_gpu}` or `plan: {method: njobs}`"),
    ("a: {program: main.py, plan: {method: per_gpu}, requires_capabilities: ['nods > 1']}",
     {}, ConfigError,
     "the condition `nods > 1` in x.yaml:1: `nods` is not a known term; "
     "examples of conditions: `len(nodes) >= 2`, `ranks > 1`"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "request_options", "kind", "message"), BAD)
def test_bad_input(
    text: str, request_options: dict[str, Any], kind: type[MilabenchError], message: str
) -> None:
    with pytest.raises(kind) as error:
        suite(text, **request_options)
    assert str(error.value) == message


def test_a_missing_file() -> None:
    with pytest.raises(ConfigError, match=r"^config/no\.yaml: no such file, and no shipped conf"):
        load(SuiteRequest("config/no.yaml"), facts())
