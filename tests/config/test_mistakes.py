"""All mistakes of a configuration are told at once, each with its line and a caret."""

from pathlib import Path

import pytest

from milabench_ddp.config.load import SuiteRequest, load
from milabench_ddp.config.mistakes import Apart, MistakeError, MistakesError, collected
from milabench_ddp.config.shipped import shipped_root
from milabench_ddp.config.tree import Origin, shown
from milabench_ddp.errors import ConfigError, SelectionError
from tests.golden import check_golden
from tests.support.configuration import facts, write

# One of each kind, and what follows from one of them is not a mistake of its own.
SUITE = """\
include: _defaults.yaml

misspelt:
  inherits: _per_gpu
  program: mian.py
  wieght: 1
  max_duration: long
  argv: {--batch-size: [1, {a: 2}]}
  presets:
    smal: {argv: {--x: 1}}
    full: {enabled: perhaps, weight: 3}
orphan:                                  # no mistake that it has no plan, whose parent is not known
  inherits: _per_gup
  program: main.py
  argv: {--n: "${..weigth}"}
disabled:
  inherits: _flops
  enabled: false
  argv: {--sedconds: 3, --m: 3}
  presets: {full: {argv: {--wramup: 1}}}
script:
  inherits: _torchrun
  program: run.sh
  requires_capabilities: ["gpu['cuont'] > 1"]
probed:
  inherits: _per_gpu
  program: main.py
  instrument: voir
  relative_to: scirpt
  argv: ['{gpu_cout}']
swept: {matrix: {x: [1]}, job: {}}
bare: {program: main.py}
"""


def test_all_at_once(here: Path) -> None:
    write("s.yaml", SUITE)
    write("run.sh", "")
    request = SuiteRequest("s.yaml", select=("q",), overrides=("script.wight=1",))
    with pytest.raises(MistakesError) as error:
        load(request, facts())
    told = error.value.told().replace(shown(shipped_root()), "<shipped>")
    check_golden("config/mistakes.txt", f"{told}\n")


def test_files_that_are_missing_are_told_together_and_alone(here: Path) -> None:
    """Without them nothing else is known."""
    write("s.yaml", "include: [a.yaml, b.yaml]\nx: {inherits: _of_a, wieght: 1}\n")
    with pytest.raises(MistakesError) as error:
        load(SuiteRequest("s.yaml"), facts())
    assert [str(each).partition(" in ")[0] for each in error.value.errors] == [
        "unknown include `a.yaml`", "unknown include `b.yaml`"
    ]  # fmt: skip


def test_a_mistake_that_many_inherit_is_one(here: Path) -> None:
    text = "_t: {program: main.py, plan: {method: per_gpu}, weight: x}\n"
    write("s.yaml", text + "".join(f"b{n}: {{inherits: _t}}\n" for n in range(9)))
    with pytest.raises(ConfigError, match=r"^wrong value for `weight` in s.yaml:1[^\n]*$"):
        load(SuiteRequest("s.yaml"), facts())


def _collect(a: MistakeError, b: MistakeError) -> None:
    with collected():
        with Apart():
            raise a
        with Apart(), collected():
            with Apart():
                raise a
            raise b
        raise SelectionError("c")


def test_apart_and_collected() -> None:
    a, b = (MistakeError(word, Origin("x.yaml", 1)) for word in "ab")
    with pytest.raises(MistakeError), Apart():  # nothing collects it
        raise a
    with pytest.raises(MistakesError) as error:
        _collect(a, b)
    assert [str(each) for each in error.value.errors] == ["c", "a", "b"]
    with pytest.raises(ZeroDivisionError), collected(), Apart():
        1 // 0  # noqa: B018


@pytest.mark.parametrize(
    ("line", "column", "word", "shown"),
    [
        ("a: {b: 'x y', c: 1}", 8, "", "a: {b: 'x y', c: 1}\n       ^"),
        ("a:\tb  # c", 4, "", "a: b  # c\n   ^"),
        ("xs: 1, x: 2", 5, "x", "xs: 1, x: 2\n       ^"),
        ("{e: {x: 1}, x: 2, x: 3}", 16, "x", "{e: {x: 1}, x: 2, x: 3}\n            ^"),
        ("k: " + 300 * "a", 4, "", f"k: {97 * 'a'}\n   ^"),
        ("k: [" + 200 * " " + "wrong]", 205, "", f"{50 * ' '}wrong]\n{50 * ' '}^"),
        ("日: x", 4, "", "日: x\n    ^"),  # two columns of a terminal
        ("\u202e: x", 4, "", "\\u202e: x\n        ^"),
        ("API_TOKEN: hunter22", 12, "", ""),  # no secret is shown
        (f"k: [ghp_{36 * 'a'}, {90 * ' '}x]", 145, "", ""),
        ("- --api-key\n- [hunter22]", 3, "", ""),
        ("none", 0, "", ""),
    ],
)
def test_the_caret(here: Path, line: str, column: int, word: str, shown: str) -> None:
    path = write("x.yaml", "# 1\n").absolute()
    path.write_text(f"# 1\n{line}\n")
    told = MistakeError("said", Origin(str(path), 2 + line.count("\n"), column), word).told()
    lines = [each[9:] for each in told.split("\n")[1:]]
    assert "\n".join(lines) == shown


def test_more_than_anyone_reads(here: Path) -> None:
    write("s.yaml", "x:\n" + "".join(f"  k{n}: 1\n" for n in range(50)))
    with pytest.raises(MistakesError) as error:
        load(SuiteRequest("s.yaml"), facts())
    assert error.value.told().endswith("\n  and 20 more")
