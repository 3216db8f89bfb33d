import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from milabench_ddp.config.placeholders import PlaceholderResolver, fill, only_name
from milabench_ddp.config.shipped import shipped_root
from milabench_ddp.config.sizing import BatchSizing, CpuSizing, Sizer, SizingOptions
from milabench_ddp.config.system import System
from milabench_ddp.config.tree import DEFAULT, ScalarNode, TreeNode, from_plain, to_plain
from milabench_ddp.errors import ConfigError
from tests.support.configuration import facts, only, resolved

VALUES = {"arch": "cuda", "n_worker": 8, "dir": "/a (b), c"}


def resolver(*, auto: bool = False, batch_size: int | None = None) -> PlaceholderResolver:
    return PlaceholderResolver(
        "b", VALUES, auto, Sizer(BatchSizing(batch_size=batch_size), facts())
    )


def filled(value: object, **options: Any) -> object:
    return to_plain(resolver(**options).fill(from_plain(value, DEFAULT)))


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ("{n_worker}", 8),
        ("n={n_worker}", "n=8"),
        ("{arch}-{arch}", "cuda-cuda"),
        ("{{arch}}", "{arch}"),
        ("{}", "{}"),
        ("{", "{"),
        ('{"a": 1}', '{"a": 1}'),
        (3, 3),
        (None, None),
        (["{n_worker}", {"{arch}": "{arch}"}], [8, {"cuda": "cuda"}]),
    ],
)
def test_filling(value: object, result: object) -> None:
    assert filled(value) == result


@pytest.mark.parametrize(
    ("text", "off", "on"),
    [
        ("auto({n_worker}, 4)", 4, 8),
        ("auto({n_worker},{arch})", "cuda", 8),
        ("auto({dir}, {dir})", "/a (b), c", "/a (b), c"),
        ("auto(007, 08)", "08", "007"),
        ("auto", "auto", "auto"),
        ("autoencoder", "autoencoder", "autoencoder"),
        ("auto(1)", "auto(1)", "auto(1)"),
        ("n=auto({n_worker}, 4)", "n=4", "n=8"),
        ("xauto(1, 2)", "xauto(1, 2)", "xauto(1, 2)"),
        ("auto(1, 2) ", "auto(1, 2) ", "auto(1, 2) "),
        ("auto(__import__('os'), 2)", "auto(__import__('os'), 2)", "auto(__import__('os'), 2)"),
    ],
)
def test_auto_is_a_form_of_the_whole_argument(text: str, off: object, on: object) -> None:
    assert filled(text) == off
    assert filled(text, auto=True) == on


def test_auto_batch() -> None:
    assert filled("auto_batch(64)") == 64
    assert filled("auto_batch({n_worker})") == 8
    assert filled("auto_batch(64)", batch_size=16) == 16
    assert filled("train.batch=auto_batch(64)", batch_size=16) == "train.batch=16"
    assert filled("a b=auto_batch(64)", batch_size=16) == "a b=auto_batch(64)"
    assert filled({"batch=auto_batch(64)": True}, batch_size=16) == {"batch=16": True}


@given(st.text(alphabet="{}$ \"':1,()auto", max_size=14).filter(lambda text: "{a" not in text
       and "{t" not in text and "{u" not in text and "{o" not in text))  # fmt: skip
def test_text_without_a_placeholder_or_a_form_is_itself(text: str) -> None:
    if not text.startswith("auto("):
        assert filled(text) == text


@given(st.recursive(st.integers() | st.booleans() | st.none(), st.lists, max_leaves=5))
def test_what_is_no_text_is_itself(value: object) -> None:
    assert filled(value) == value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("{n_wroker}", "unknown placeholder `{n_wroker}` in (default): did you mean `n_worker`?"),
        ("auto(1, {xyz})", "unknown placeholder `{xyz}` in (default)"),
        ({"{xyz}": True}, "unknown placeholder `{xyz}` in (default)"),
    ],
)
def test_unknown_placeholders(value: object, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        filled(value)
    assert str(error.value) == message


def test_a_node_without_text_is_left_alone() -> None:
    node: TreeNode = ScalarNode(3, DEFAULT)
    assert resolver().fill(node) is node


NAMES = [
    "arch", "benchmark_folder", "ccl", "cpu_count", "cpu_per_gpu", "device_name", "gpu_count",
    "milabench_base", "milabench_cache", "milabench_code", "milabench_data", "milabench_extra",
    "milabench_name", "milabench_runs", "milabench_venv", "n_worker",
]  # fmt: skip


def test_every_placeholder(here: Path) -> None:
    argv = {f"--{name}": f"{{{name}}}" for name in NAMES}
    stated = "group: g, install_group: i, program: prog/main.py, plan: {method: per_gpu}"
    text = f"b: {{{stated}, argv: {argv}}}"
    found = resolved(text, on=facts(arch="rocm", cpu_count=6, gpu_count=4))["b"]["argv"]
    assert {key[2:]: value for key, value in found.items()} == {
        "arch": "rocm",
        "benchmark_folder": str(shipped_root() / "benchmarks"),
        "ccl": "rccl",
        "cpu_count": 6,
        "cpu_per_gpu": 1,
        "device_name": "cuda",
        "gpu_count": 4,
        "milabench_base": "/base",
        "milabench_cache": "/base/cache",
        "milabench_code": str(here / "prog"),
        "milabench_data": "/base/data",
        "milabench_extra": "/base/extra/g",
        "milabench_name": "b",
        "milabench_runs": "/base/runs",
        "milabench_venv": "/base/venv/i",
        "n_worker": 2,
    }


def test_argv_env_and_voir_are_filled(here: Path) -> None:
    (here / "voirfile.py").write_text("")
    found = only("""
        b:
          program: main.py
          plan: {method: per_gpu}
          instrument: voir
          argv: ['{arch}', '{milabench_code}/x']
          env: {A: '{gpu_count}'}
          voir: {options: {stop: '{n_worker}'}}
    """)
    assert found.argv == ("cuda", f"{here}/x")
    assert found.env == {"A": "2"}
    assert found.voir == {"stop": 8}


def test_sizing_of_the_system_file_is_used(here: Path) -> None:
    text = "b: {program: main.py, plan: {method: per_gpu}, argv: ['auto({n_worker}, 9)']}"
    system = System(options=SizingOptions(cpu=CpuSizing(auto=True, max=5)))
    assert only(text).argv == ("9",)
    assert only(text, system=system).argv == ("5",)


TEXTS = {"a": "1", "batch-size": "64"}
A_NAME = st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]*", fullmatch=True)


def with_values(text: str) -> str:
    return fill(text, TEXTS, DEFAULT, is_last=True)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{a}", "1"),
        ("x{a}y{batch-size}z", "x1y64z"),
        ("{{a}}", "{a}"),
        ("{{{a}}}", "{{a}}"),
        ("${a}", "${a}"),
        ("{}", "{}"),
        ("{", "{"),
        ("}{", "}{"),
        ("{ a }", "{ a }"),
        ('{"a": {"b": 1}}', '{"a": {"b": 1}}'),
        ("{0}", "{0}"),
    ],
)
def test_only_names_in_braces_are_placeholders(text: str, result: str) -> None:
    assert with_values(text) == result


def test_the_last_pass_knows_every_placeholder() -> None:
    assert fill("{a}{b}", TEXTS, DEFAULT, is_last=False) == "1{b}"
    with pytest.raises(ConfigError, match=r"^unknown placeholder `\{b\}` in \(default\)"):
        with_values("{a}{b}")


@given(
    st.text(alphabet="{}$ab \"':1,", max_size=12).filter(lambda text: not re.search(r"{[ab]", text))
)
@example("{{a}}")
def test_text_without_placeholders_is_itself_until_it_is_unescaped(text: str) -> None:
    assert fill(text, TEXTS, DEFAULT, is_last=False) == text


@given(A_NAME)
def test_an_escaped_name_comes_out_as_written(name: str) -> None:
    assert fill(f"{{{{{name}}}}}", {name: "wrong"}, DEFAULT, is_last=True) == f"{{{name}}}"


@given(A_NAME, st.text(max_size=5))
def test_a_value_is_not_looked_at_again(name: str, value: str) -> None:
    assert fill(f"<{{{name}}}>", {name: value}, DEFAULT, is_last=True) == f"<{value}>"


def test_a_whole_placeholder() -> None:
    assert only_name("{a}") == "a"
    assert only_name("{a} ") is None
    assert only_name("{{a}}") is None
