"""``--nodes`` takes the place of a matrix's own axis, and is refused where there is none."""

from pathlib import Path

import pytest

from milabench_ddp.config.matrix import expand, with_node_counts
from milabench_ddp.config.tree import DeleteNode, ListNode, finalize, to_plain
from milabench_ddp.errors import ConfigError, SelectionError
from tests.support.configuration import entries, facts, suite


def expanded(text: str) -> dict[str, object]:
    return {name: to_plain(finalize(entry)) for name, entry in expand(entries(text)).items()}


def test_the_product_of_the_axes_in_the_place_of_the_entry() -> None:
    found = expanded("""
        first: {}
        sweep:
          matrix: {worker: [2, 4], batch-size: [32, 64], loader: torch}
          job: {name: 'r-w{worker}-bs{batch-size}', inherits: '_{loader}'}
        last: {}
    """)
    names = ["first", "r-w2-bs32", "r-w2-bs64", "r-w4-bs32", "r-w4-bs64", "last"]
    assert list(found) == names
    assert found["r-w4-bs32"] == {
        "inherits": "_torch",
        "matrix": {"worker": 4, "batch-size": 32, "loader": "torch"},
        "sweep": "sweep",
    }
    assert found["r-w2-bs64"]["matrix"] == {"worker": 2, "batch-size": 64, "loader": "torch"}  # type: ignore[index]


def test_every_string_is_filled_and_a_whole_value_keeps_its_type() -> None:
    found = expanded("""
        s:
          matrix: {n: 2, on: true, opts: [{a: 1}]}
          job:
            name: 's{n}-{on}'
            argv: {--n: '{n}', --text: 'n={n},{on}', --run: '{arch}', --esc: '{{n}}', --o: '{opts}'}
            env: {N: '{n}'}
            tags: ['n{n}']
            max_duration: '{n}'
    """)
    assert found == {
        "s2-true": {
            "argv": {
                "--n": 2, "--text": "n=2,true", "--run": "{arch}", "--esc": "{{n}}", "--o": {"a": 1}
            },
            "env": {"N": 2},
            "tags": ["n2"],
            "max_duration": 2,
            "matrix": {"n": 2, "on": True, "opts": {"a": 1}},
            "sweep": "s",
        }
    }  # fmt: skip


def test_what_waits_for_inheritance_still_waits() -> None:
    job = "{name: 's{n}', argv: !delete , url: {append: ['{n}']}}"
    (variant,) = expand(entries(f"s: {{matrix: {{n: 1}}, job: {job}}}")).values()
    assert isinstance(variant.entries["argv"], DeleteNode)
    appended = variant.entries["url"]
    assert isinstance(appended, ListNode)
    assert appended.appends
    assert to_plain(finalize(variant)) == {"url": [1], "matrix": {"n": 1}, "sweep": "s"}


def test_a_matrix_without_a_job_records_a_point() -> None:
    assert expanded("a: {matrix: {n: 1}}") == {"a": {"matrix": {"n": 1}}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "s:\n  matrix: {n: [1, 2], m: [a, b]}\n  job:\n    name: s{m}",
            "two benchmarks are named `sa`: the name in x.yaml:3 must differ for each combination",
        ),
        (
            "s1: {}\ns:\n  matrix: {n: 1}\n  job: {name: 's{n}'}",
            "two benchmarks are named `s1`: the name in x.yaml:4 must differ for each combination",
        ),
        (
            "s:\n  matrix: {n: 1}\n  job: {name: 's{n}'}\ns1: {}",
            "two benchmarks are named `s1`: the name in x.yaml:3 must differ for each combination",
        ),
        (
            "s: {matrix: {worker: 1}, job: {name: 's{wroker}'}}",
            "unknown placeholder `{wroker}` in x.yaml:1: did you mean `worker`?",
        ),
        (
            "s: {matrix: {n: 1}, job: {}}",
            "the `job` in x.yaml:1 needs a `name`, such as `bench-{n}`",
        ),
        ("s: {job: {name: a}}", "`s` in x.yaml:1 has a `job` but no `matrix`"),
        (
            "s: {matrix: [n], job: {name: a}}",
            "wrong value for `matrix` in x.yaml:1: expected a mapping, got a list",
        ),
        ("s: {matrix: {n: []}, job: {name: a}}", "the axis `n` in x.yaml:1 has no value"),
        (
            "s: {matrix: {n: [1]}}",
            "the `matrix` in x.yaml:1 has no `job` to expand: "
            "put the keys of its benchmarks into one",
        ),
        (
            "s: {matrix: {n: 1}, weight: 2, job: {name: a}}",
            "key `weight` in x.yaml:1 stands beside `job`: put it inside `job`",
        ),
        (
            "s: {matrix: {n: [[1]]}, job: {name: a, group: 'g{n}'}}",
            "`{n}` in x.yaml:1 stands for a list, "
            "which must be the whole value and not a part of it",
        ),
    ],
)
def test_bad_sweeps(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        expanded(text)
    assert str(error.value) == message


SWEEP = """
sweep:
  matrix: {model: [a, b], nodes: [1, 2, 4, 8]}
  job:
    name: '{model}-{nodes}'
    program: main.py
    plan: {method: per_gpu}
    num_machines: '{nodes}'
"""
OTHER = """
other:
  matrix: {model: [c]}
  job: {name: '{model}', program: main.py, plan: {method: per_gpu}}
"""
PLAIN = "plain: {program: main.py, plan: {method: per_gpu}}\n"


def names(text: str, *nodes: int) -> dict[str, int | None]:
    on = facts(node_count=max(nodes, default=8))
    return {b.name: b.num_machines for b in suite(text, on=on, nodes=nodes).benchmarks}


def test_the_counts_take_the_place_of_the_axis(here: Path) -> None:
    assert names(SWEEP, 4, 2, 1) == {
        f"{model}-{count}": count for model in "ab" for count in (4, 2, 1)
    }
    assert names(SWEEP, 3) == {"a-3": 3, "b-3": 3}


def test_without_any_it_is_as_the_file_has_it(here: Path) -> None:
    assert set(names(SWEEP)) == {f"{model}-{count}" for model in "ab" for count in (1, 2, 4, 8)}


def test_what_has_no_such_axis_stays(here: Path) -> None:
    found = names(SWEEP + OTHER + PLAIN, 2, 1)
    assert set(found) == {"a-2", "a-1", "b-2", "b-1", "c", "plain"}


@pytest.mark.parametrize("text", [OTHER, PLAIN, OTHER + PLAIN])
def test_one_count_needs_no_axis(here: Path, text: str) -> None:
    assert set(names(text, 2)) <= {"c", "plain"}
    with pytest.raises(SelectionError) as caught:
        names(text, 4, 2)
    assert str(caught.value) == (
        "--nodes 4,2: no benchmark is a matrix over `nodes`: "
        "give one number of nodes, or add `matrix: {nodes: [...]}` and a `job`"
    )


def test_what_it_is_given_is_left_as_it_was() -> None:
    found = entries("s: {matrix: {nodes: [1]}, job: {name: 's{nodes}'}}")
    changed = with_node_counts(found, (2,))
    assert found["s"] != changed["s"]
    assert found == entries("s: {matrix: {nodes: [1]}, job: {name: 's{nodes}'}}")
