"""A benchmark is written into a run's plan and read back by other hosts: nothing may be lost."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.codec import decode, encode
from milabench_ddp.config.schema import (
    KEYS,
    Benchmark,
    FakeImageNet,
    PlanSpec,
    check_values,
)
from milabench_ddp.config.tree import DEFAULT, from_plain
from milabench_ddp.config.written import check_written
from milabench_ddp.errors import ConfigError
from tests.support.configuration import table

words = st.text(max_size=5)
paths = st.text("ab./", min_size=1, max_size=5).map(Path)
json: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)
seconds = st.floats(0, 1e6)
counts = st.integers(8, 2**14)
images = st.builds(FakeImageNet, *[counts] * 5, st.just("F"))

benchmarks = st.builds(
    Benchmark,
    name=words,
    program=paths,
    plan=st.builds(PlanSpec, words, st.dictionaries(words, st.integers(1, 64))),
    argv=st.lists(words).map(tuple),
    env=st.dictionaries(words, words),
    group=words,
    install_group=words,
    tags=st.frozensets(words),
    max_duration=seconds,
    weight=seconds,
    num_machines=st.none() | st.integers(1, 100),
    preset=st.none() | words,
    voir=st.none() | st.dictionaries(words, json),
    voirfile=st.none() | paths,
    record=st.dictionaries(words, json),
    data=st.none() | images,
    scaling=st.sampled_from(["weak", "strong"]),
)


@given(benchmarks)
def test_a_benchmark_comes_back_from_json(benchmark: Benchmark) -> None:
    assert decode(encode(benchmark), Benchmark) == benchmark


GOOD = {
    "argv": [{"--x": 1}, ["a"]],
    "because": ["it takes long"],
    "client": [{"anything": [1]}],
    "definition": ["folder"],
    "docker_image": ["image:tag"],
    "enabled": [True, False],
    "env": [{"A": 1, "B": None, "C": True, "D": "x"}],
    "gradient_accumulation_steps": [1],
    "group": ["g"],
    "install_group": ["g"],
    "install_variant": ["cuda"],
    "instrument": ["voir"],
    "isolate": [1, 2],
    "matrix": [{"n": 1}],
    "max_duration": [1, 0.5],
    "max_output": [1, 0.5],
    "num_machines": [1, 16],
    "pip": [{"x": 1}],
    "plan": [
        {"method": "per_gpu"},
        {"method": "njobs", "n": 2},
        {"method": "njobs", "n": None},
        {"method": "njobs", "each": "node"},
    ],
    "prepare": [
        {"fake_imagenet": {"images": 10}},
        {
            "fake_imagenet": {
                "images": 10,
                "val_images": 1,
                "classes": 1,
                "size": 8,
                "seed": 0,
                "folder": "F-1",
            }
        },
    ],
    "program": ["main.py"],
    "relative_to": ["b"],
    "requires_capabilities": [[], ["len(nodes) >= 2"]],
    "scaling": ["weak", "strong"],
    "sweep": ["resnet-sweep"],
    "secrets": [["LICENSE_*"], []],
    "server": [[1]],
    "tags": [[], ["a"]],
    "url": ["https://example.org"],
    "use_deepspeed": [True],
    "validation": [{"usage": {"gpu_load_threshold": 0, "gpu_mem_threshold": 1}}, {"usage": None}],
    "voir": [{"options": {"stop": 60, "skip": 5, "interval": "1s", "gpu_poll": 3}}],
    "weight": [0, 1, 0.5],
}

SECONDS = "a number of seconds, up to 2,000,000"
BAD = [
    ("argv", 3, "wrong value for `argv` in (default): "
                "expected a mapping of options or a list of words, got `3`"),
    ("definition", "", "wrong value for `definition` in (default): "
                       "expected a text, got the text ``"),
    ("enabled", 1, "wrong value for `enabled` in (default): expected true or false, got `1`"),
    ("enabled", "no", "wrong value for `enabled` in (default): "
                      "expected true or false, got the text `no`"),
    ("env", ["A"], "wrong value for `env` in (default): "
                   "expected a mapping, got a list"),
    ("env", {"A": [1]}, "wrong value for `env.A` in (default): "
                        "expected a single value, got a list"),
    ("env", {"A=B": 1}, "`A=B` in (default) cannot name an environment variable"),
    ("env", {"A": "\0"}, "`env.A` in (default) holds a null character"),
    ("group", 3, "wrong value for `group` in (default): expected a text, got `3`"),
    ("instrument", "vor", "wrong value for `instrument` in (default): "
                          "expected `voir`, got the text `vor`: did you mean `voir`?"),
    ("max_duration", "ten", "wrong value for `max_duration` in (default): "
                            f"expected {SECONDS}, got the text `ten`"),
    ("max_duration", 0, "wrong value for `max_duration` in (default): "
                        f"expected {SECONDS}, got `0`"),
    ("max_duration", True, "wrong value for `max_duration` in (default): "
                           f"expected {SECONDS}, got `true`"),
    ("max_duration", float("inf"), "wrong value for `max_duration` in (default): "
                                   f"expected {SECONDS}, got `inf`"),
    ("num_machines", 0, "wrong value for `num_machines` in (default): "
                        "expected an integer >= 1, got `0`"),
    ("num_machines", 1.5, "wrong value for `num_machines` in (default): "
                          "expected an integer, got `1.5`"),
    ("plan", "per_gpu", "wrong value for `plan` in (default): "
                        "expected a mapping, got the text `per_gpu`"),
    ("plan", {"n": 1}, "`plan` in (default) has no `method`"),
    ("plan", {"method": None}, "`plan` in (default) has no `method`"),
    ("plan", {"method": "per-gpu"}, "wrong value for `plan.method` in (default): "
                                    "expected `per_gpu` or `njobs`, "
                                    "got the text `per-gpu`: did you mean `per_gpu`?"),
    ("plan", {"method": "njobs", "n": 0}, "wrong value for `plan.n` in (default): "
                                          "expected an integer >= 1, got `0`"),
    ("plan", {"method": "njobs", "each": "gpu"}, "wrong value for `plan.each` in (default): "
                                                 "expected `node`, got the text `gpu`"),
    ("plan", {"method": "njobs", "m": 1}, "unknown key `m` in (default)"),
    ("prepare", {"imagenet": {}}, "unknown key `imagenet` in (default): "
                                  "did you mean `fake_imagenet`?"),
    ("prepare", {"fake_imagenet": {"size": 8}}, "`prepare.fake_imagenet` in (default) "
                                                "has no `images`"),
    ("prepare", {"fake_imagenet": {"images": 0}},
     "wrong value for `prepare.fake_imagenet.images` in (default): "
     "expected an integer >= 1, got `0`"),
    ("prepare", {"fake_imagenet": {"images": 1, "folder": "../x"}},
     "wrong value for `prepare.fake_imagenet.folder` in (default): "
     "expected the name of a folder, without `/`, got the text `../x`"),
    ("requires_capabilities", "x", "wrong value for `requires_capabilities` in (default): "
                                   "expected a list of texts, got the text `x`"),
    ("tags", "a", "wrong value for `tags` in (default): "
                  "expected a list of texts, got the text `a`"),
    ("tags", [1], "wrong value for `tags[0]` in (default): expected a text, got `1`"),
    ("validation", {"usage": {"gpu_load": 1}},
     "unknown key `gpu_load` in (default): did you mean `gpu_load_threshold`?"),
    ("validation", {"usage": {"gpu_load_threshold": 2}},
     "wrong value for `validation.usage.gpu_load_threshold` in (default): "
     "expected a number <= 1.0, got `2`"),
    ("voir", {"stop": 60}, "unknown key `stop` in (default)"),
    ("voir", {"options": {"stopp": 60}},
     "unknown key `stopp` in (default): did you mean `stop`?"),
    ("weight", -1, "wrong value for `weight` in (default): expected a number, 0 or more, got `-1`"),
    ("max_durtion", 1, "unknown key `max_durtion` in (default): did you mean `max_duration`?"),
    ("inherits", "a", "unknown key `inherits` in (default)"),
]  # fmt: skip


def test_every_key_has_an_example() -> None:
    assert GOOD.keys() == KEYS.keys()


@pytest.mark.parametrize(("key", "value"), [(k, v) for k, values in GOOD.items() for v in values])
def test_good_values(key: str, value: object) -> None:
    check_values(from_plain({key: value}, DEFAULT))  # type: ignore[arg-type]


@pytest.mark.parametrize(("key", "value", "message"), BAD)
def test_bad_values(key: str, value: object, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        check_values(from_plain({key: value}, DEFAULT))  # type: ignore[arg-type]
    assert str(error.value) == message


def test_what_is_known_before_expansion() -> None:
    check_written(table("""
        inherits: a
        presets: {small: {argv: {}, env: {}, max_duration: 1, voir: {}, enabled: true,
                          num_machines: 1}, gone: !delete , none: ~}
        matrix: {}
        job: {name: x, inherits: a, presets: ~, argv: {}}
    """))  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\nplann: {}", "unknown key `plann` in x.yaml:2: did you mean `plan`?"),
        ("name: x", "unknown key `name` in x.yaml:1"),
        ("job: {nam: x}", "unknown key `nam` in x.yaml:1: did you mean `name`?"),
        ("job: {presets: {s: {argvv: 1}}}",
         "unknown key `argvv` in x.yaml:1: did you mean `argv`?"),
    ],
)  # fmt: skip
def test_unknown_keys_of_templates_and_sweeps(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        check_written(table(text))
    assert str(error.value) == message
