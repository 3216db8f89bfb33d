"""Suites: YAML made of keys with good, odd and hostile values, or spoilt; to ``milabench dry``."""

import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

from hypothesis import strategies as st

from milabench_ddp.config.schema import KEYS
from tests.fuzz.command import check_refusal, milabench
from tests.fuzz.mutated import UNSEEN, spoilt

ON = ("--device", "cpu", "--gpus", "2", "--nodes", "2")
RUNNERS = ((), ("--runner", "slurm"), ("--runner", "local"))
_CONFIG = Path(__file__).resolve().parents[2] / "config"
GOOD = """\
_base: &base {program: p.py, plan: {method: per_gpu}, max_duration: 60, weight: 1}
a: {<<: *base, argv: {--n: 1, --flag: true, --list: [1, 2], x: true}, env: {A: '{gpu_count}'}}
b: {inherits: _base, plan: {method: njobs, n: 1}, voir: {options: {stop: 3}}, instrument: voir}
c: {inherits: a, presets: {small: {argv: {--n: 2}}}, requires_capabilities: ['len(nodes) >= 1']}
sweep: {matrix: {n: [1, 2]}, job: {name: 'm-{n}', inherits: a, argv: {--n: '{n}'}}}
d: {inherits: b, argv: ['${a.weight}', '{milabench_name}', 'auto(1, 2)'], tags: [x, y]}
"""
# What stands for a value, as it is written.
GOOD_VALUES = (
    "p.py", "{method: per_gpu}", "{method: njobs, n: 2}", "[a, b]", "1", "60.5", "true", "null",
    "_t", "[_t, a]", "{--a: 1}", "{A: '1'}", "['len(nodes) >= 2']", "{options: {stop: 3}}",
    "{small: {argv: {--n: 2}}}", "{n: [1, 2]}", "{name: 'x{n}', program: p.py}", "strong", "voir",
)  # fmt: skip
ODD_VALUES = (
    "~", "''", "[]", "{}", "-1", "0", ".inf", "-.inf", ".nan", "1e400", "0x1f", "0o17", "1_000",
    "2024-01-01", "12:30:45", "yes", "!!str 1", "!!int x", "!!float 1", "!!binary aGk=", "<<",
    "!!set {a, b}", "!!omap [a: 1]", "!!timestamp 2024-01-01", "!!null x", "!!bool x", "!x y",
    "!!python/object/apply:os.system ['touch {canary}']", "!!python/name:os.system", "!delete",
    "!!python/tuple [1]", "!<tag:yaml.org,2002:python/none> x", "!!int 9", "!!merge <<", "? a",
    "{append: [x]}", "{append: [x], y: 1}", "*unknown", "&l [*l]", "&m {m: *m}", "|\n  a\n  b",
    "'{gpu_count}'", "'{unknown}'", "'{{gpu_count}}'", "'{milabench_code}'", "{gpu_count}",
    "'${a.weight}'", "'${..weight}'", "'${a}'", "'${..}'", "'${.}'", "'${a.argv}'", "'${'", "'$'",
    "'${oc.env:HOME}'", "'${oc.env:NOT_THERE}'", "'${oc.create:{a: 1}}'", '\'${oc.decode:"[1"}\'',
    "'${oc.select:a}'", "'${oc.dict.keys:a}'", "'${oc.deprecated:a}'", "'${x:1}'", "'${${a}}'",
    "'auto(1, 2)'", "'auto(,)'", "'auto_batch(8)'", "'auto_batch()'", "'n=auto_batch(-1)'",
    "'auto_batch({x})'", "'../../../x'", "/dev/zero", "'~nobody/x'", "'-rf'", "'a b'", "'$(id)'",
    '"\\ud800"', '"\\0"', '"\\e[2J"', '"\\u202e"', '"a\\nb"', '"\\x85"', '"\\uFFFE"',
    '"\\U0010FFFF"', "'gpu[0]'", "['not (1 < 2) or arch']", "['(' ]", "['1 if 1 else 2']",
    "[['a']]", "{a: {b: [1]}}",
)  # fmt: skip
HUGE_VALUES = {
    "digits": "9" * 400,
    "more digits": "9" * 5000,
    "fraction": "0." + "1" * 400,
    "long text": "x" * 70_000,
    "deep list": "[" * 400 + "]" * 400,
    "deeper list": "[" * 20_000 + "]" * 20_000,
    "deep mapping": "{a: " * 300 + "1" + "}" * 300,
    "deep condition": "['" + "not " * 2000 + "True']",
    "parentheses": "['" + "(" * 300 + "1" + ")" * 300 + "']",
    "long condition": "['" + " or ".join(["1 < 2"] * 3000) + "']",
    "deep interpolation": "'" + "${a." * 60 + "}" * 60 + "'",
    "many placeholders": "'" + "{gpu_count}" * 3000 + "'",
    "matrix": "{" + ", ".join(f"x{k}: [1, 2, 3, 4, 5, 6, 7, 8]" for k in range(9)) + "}",
    "wide matrix": "{n: [" + ", ".join(map(str, range(30_000))) + "]}",
}
LAUGHS = "".join(
    f"_l{k}: {{argv: &x{k} [{', '.join([f'*x{k - 1}' if k else 'lol'] * 9)}]}}\n" for k in range(12)
)
NAMES = (
    "a", "b", "_t", "'*'", "run.json", "b.D0.data", "a.state", "nodes", "é", "x/y", "'..'",
    "include", "1", "null", "true", "<<", "multirun", "[a]", "? a", "a b", "'-x'", "'a\\b'",
    '"\\ud800"', '"\\e[m"', "'${a}'", "'{n}'",
    "x" * 200,
    "all", "dry", ".alive", "logs", "traces", "''", "&n a", "!!str s",
)  # fmt: skip
INCLUDES = (
    "suite.yaml", "inc.yaml", "[inc.yaml, inc.yaml]", "/dev/zero", "fifo", ".", "nowhere", "ddp",
    "[]", "null", "{a: 1}", "'~nobody'", "/proc/self/mem", "/proc/self/fd/0", "loop", "_defaults",
)  # fmt: skip
OPTIONS = (
    "--select=a", "--select=*", "--exclude=a", "--preset=small", "--preset=x", "--repeat=2",
    "--override=a.weight=2", "--override=*.env.A=1", "--override=a.argv.--n=[1", "--override=.=1",
    "--override=a.plan={method: per_gpu}", "--override=a.env.A=\x1b",
    "--override=" + "a." * 999,
    "--until=1%", "--shuffle", "--seed=1", "--profile=always", "--numa-binding=none", "--nodes=9",
    "--gpus=1",
    "--gpus=" + "9" * 400,
    "--nodes=" + "9" * 400,
    "--gpus=1000000", "--nodes=0", "--nodes=4,2,1", "--repeat=99999999999999999999",
    "--base=/proc/nowhere", "--system=suite.yaml", "--partition=x", "--account=$(id)",
    "--select=" + "[" * 50, "--until=nan%", "--system=fifo",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A configuration, a file that it may include, and more options of the command."""

    text: bytes
    included: bytes = b""
    options: tuple[str, ...] = ()
    runner: tuple[str, ...] = field(default=())


values = st.one_of(
    st.sampled_from(GOOD_VALUES),
    st.sampled_from(ODD_VALUES),
    st.sampled_from(sorted(HUGE_VALUES)).map(HUGE_VALUES.__getitem__),
    st.sampled_from(UNSEEN).map(lambda odd: f"'a{odd}b'"),
    st.text(max_size=8).map(lambda text: "'" + text.replace("'", "''") + "'"),
)
keys = st.sampled_from([*KEYS, "inherits", "presets", "job", "name", "nowhere", "<<", "append"])
_required = st.sampled_from(["program: p.py, plan: {method: per_gpu}, ", "inherits: _t, ", ""])


def _entry(name: str, required: str, stated: dict[str, str]) -> str:
    body = ", ".join(f"{key}: {value}" for key, value in stated.items())
    return f"{name}: {{{required}{body}}}\n"


names = st.one_of(st.sampled_from(["a", "b", "c"]), st.sampled_from(NAMES))
entries = st.builds(_entry, names, _required, st.dictionaries(keys, values, max_size=3))


def _written(includes: str | None, entries: list[str], laughs: bool) -> bytes:
    first = "" if includes is None else f"include: {includes}\n"
    template = "_t: {program: p.py, plan: {method: njobs}}\n"
    text = first + template + (LAUGHS if laughs else "") + "".join(entries)
    return text.encode(errors="surrogatepass")


written = st.builds(
    _written,
    st.none() | st.none() | st.sampled_from(INCLUDES),
    st.lists(entries, min_size=1, max_size=4),
    st.integers(0, 20).map(lambda one: one == 20),
)
_shipped = [path.read_text() for path in sorted(_CONFIG.rglob("*.yaml"))]
texts = st.one_of(written, written, spoilt([GOOD]), spoilt(_shipped), st.binary(max_size=40))
cases = st.builds(
    Case,
    texts,
    st.just(b"b: {program: p.py, plan: {method: per_gpu}}\n") | texts,
    st.lists(st.sampled_from(OPTIONS), max_size=2).map(tuple),
    st.sampled_from(RUNNERS),
)


def check(case: Case, folder: Path) -> None:
    """Exit code 0 with a script that bash can read, or 2 with one message; nothing is executed."""
    canary = folder / "canary"
    (folder / "p.py").write_text("")
    (folder / "suite.yaml").write_bytes(case.text.replace(b"{canary}", bytes(canary)))
    (folder / "inc.yaml").write_bytes(case.included)
    os.mkfifo(folder / "fifo")
    (folder / "loop").symlink_to("loop")
    options = [word.replace("fifo", str(folder / "fifo")) for word in case.options]
    words = ["dry", str(folder / "suite.yaml"), "--base", str(folder), *ON, *options, *case.runner]
    with patch("milabench_ddp.config.limited.PATIENCE", 0.05):  # the pipe stays silent
        said = milabench(*words)
    check_refusal(said, (0, 2))
    if said.code == 0:
        script = said.out.encode(errors="surrogateescape")
        read = subprocess.run(["bash", "-n"], input=script, capture_output=True, check=False)
        assert (read.returncode, read.stderr) == (0, b""), read.stderr[-2000:]
    assert not canary.exists(), "something of the configuration was executed"
