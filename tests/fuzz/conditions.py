"""Conditions and placeholders: made with their truth, which Python itself knows, or spoilt."""

import warnings
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from milabench_ddp.config.conditions import evaluate
from milabench_ddp.config.placeholders import PlaceholderResolver, fill
from milabench_ddp.config.sizing import BatchSizing, Sizer
from milabench_ddp.config.tree import DEFAULT, Scalar, from_plain, scalar_text, to_plain
from milabench_ddp.errors import ConfigError
from tests.fuzz.mutated import UNSEEN, spoilt
from tests.support.configuration import facts

MACHINE = facts(node_count=2, gpu_count=8, cpu_count=96, gpu_capability=9.0)
KNOWN = {
    "len": len,
    "nodes": [None] * MACHINE.node_count,
    "arch": MACHINE.arch,
    "cpu": {"count": MACHINE.cpu_count},
    "gpu": {
        "capability": MACHINE.gpu_capability,
        "capacity": MACHINE.gpu_capacity_mib,
        "count": MACHINE.gpu_count,
        "name": MACHINE.device_name,
    },
}
numbers = st.one_of(
    st.sampled_from(["len(nodes)", "cpu['count']", "gpu['count']", 'gpu["capacity"]', "1e3"]),
    st.sampled_from(["gpu['capability']", "True", "False", "1_000", "10**9", "-1", "1e400"]),
    st.integers(0, 100).map(str),
)  # fmt: skip
words = st.sampled_from(
    ["arch", "gpu['name']", "'cuda'", '"GPU 3000"', "''", "'\\n'", "f'x'", "b'x'"]
)
orders = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
compared = st.one_of(
    st.builds("{} {} {}".format, numbers, orders, numbers),
    st.builds("{} {} {} {} {}".format, numbers, orders, numbers, orders, numbers),
    st.builds("{} {} {}".format, words, orders, words),
    st.builds("{} {} {}".format, words, orders, numbers),
    st.sampled_from(["True", "False", "arch in 'cuda'", "arch is 'cuda'", "1", "arch", "None"]),
)


def _joined(parts: list[str], words: list[str]) -> str:
    """Comparisons, put together from the left: ``a and not b``, ``(a and not b) or c``."""
    text = parts[0]
    for part, word in zip(parts[1:], words, strict=False):
        text = word.format(text, part)
    return text


_JOINTS = (
    "{} and {}",
    "{} or {}",
    "({} and not {})",
    "not ({} or {})",
    "({}) == ({})",
    "not {} and ({})",
)
expressions = st.builds(
    _joined,
    st.lists(compared, min_size=1, max_size=6),
    st.lists(st.sampled_from(_JOINTS), min_size=6, max_size=6),
)
DEEP = [
    *("not " * n + "True" for n in (50, 5000)),
    *("(" * n + "1 < 2" + ")" * n for n in (50, 150, 5000)),
    " and ".join(["1 < 2"] * 5000),
    "1" + " < 2" * 5000,
    "-" * 5000 + "1 < 2",
    "arch" + ".x" * 5000 + " == 1",
    "len(" * 2000 + "nodes" + ")" * 2000 + " > 1",
    "9" * 5000 + " > 1",
    "'" + "x" * 100_000 + "' == arch",
]
conditions = st.one_of(
    expressions,
    st.sampled_from(DEEP),
    spoilt(["len(nodes) >= 2 and gpu['count'] > 1", "not (arch == 'cuda' or 1 < 2)"]).map(
        lambda text: text.decode(errors="surrogateescape")
    ),
    st.text(alphabet="()[]{}'\"<>=!.,:;# \t\n\\ynotaderlg109*-~@%", max_size=30),
    st.text(max_size=20),
    st.sampled_from(UNSEEN).map("arch == '{}'".format),
)


def check_condition(condition: str, folder: Path) -> None:
    """A ConfigError, or what Python finds; never anything else."""
    try:
        found = evaluate(condition, MACHINE, DEFAULT).holds
    except ConfigError:
        return
    assert found is python_says(condition), f"{condition!r} is {found}"


def python_says(condition: str) -> bool:
    """What Python makes of a condition that our grammar has: it holds no call but ``len``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # such as of `is` with a literal
        return bool(eval(condition.strip(), {"__builtins__": {}}, dict(KNOWN)))


VALUES: dict[str, Scalar] = {
    "arch": "cuda",
    "gpu_count": 8,
    "milabench_name": "b{arch}",  # what was filled in is not filled again
    "odd-name.x": "",
    "flag": True,
    "nothing": None,
}
FORMS = (
    "auto({gpu_count}, 4)",
    "auto_batch(8)",
    "x=auto_batch({arch})",
    "auto(,)",
    "auto(1, 2, 3)",
)
literals = st.text(
    st.characters(exclude_characters="{}", exclude_categories=()), max_size=6
).filter(lambda text: not text.endswith("$"))
parts = st.lists(
    st.one_of(
        literals.map(lambda text: (text, text)),
        st.sampled_from(sorted(VALUES)).map(
            lambda name: (f"{{{name}}}", scalar_text(VALUES[name]))
        ),
        st.sampled_from(["a", "arch_", "x.y"]).map(lambda name: (f"{{{{{name}}}}}", f"{{{name}}}")),
        st.sampled_from(["{}", "{ arch }", "{1}", "{:}", '{"a"}']).map(lambda text: (text, text)),
    ),
    max_size=6,
)
trees = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.floats(allow_nan=False), st.integers(), st.text(max_size=12),
        st.sampled_from(FORMS), st.text("{}$arch:_()auto,", max_size=14),
    ),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)  # fmt: skip


def check_parts(made: list[tuple[str, str]], folder: Path) -> None:
    """A text is filled part by part, whatever stands beside a placeholder."""
    text = "".join(written for written, _ in made)
    assert fill(text, VALUES, DEFAULT, is_last=True) == "".join(filled for _, filled in made)


def check_tree(tree: Any, folder: Path) -> None:
    """A tree of any values is filled, and stays so, or there is a ConfigError."""
    resolver = PlaceholderResolver("b", VALUES, True, Sizer(BatchSizing(batch_size=16), MACHINE))
    try:
        filled = to_plain(resolver.fill(from_plain(tree, DEFAULT)))
    except ConfigError:
        return
    assert isinstance(filled, dict | list) is isinstance(tree, dict | list)
