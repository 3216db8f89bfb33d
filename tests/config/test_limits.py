"""Configurations that would exhaust the time, the memory or the stack of their reader."""

import os
from pathlib import Path

import pytest

from milabench_ddp.config import limited, limits
from milabench_ddp.config.load import SuiteRequest, load
from milabench_ddp.errors import ConfigError
from tests.support.configuration import facts

BODY = "program: p.py, plan: {method: per_gpu}"
ONE = f"x: {{{BODY}}}\n"
TOO_DEEP = "more than 50 nested lists and mappings: flatten them"
MANY_VALUES = "from here on the configuration has more than 20,000 values"
LONG = "is too long for a number: put it in quotes if it is a text"


def chain(first: str, each: str, count: int) -> str:
    """A first line, and more of which each holds its number and the one before."""
    return first + "".join(each.format(k=k, before=k - 1) for k in range(1, count))


LAUGHS = chain(
    "_0: &a0 {client: [x, x]}\n", "_{k}: &a{k} {{client: [*a{before}, *a{before}]}}\n", 40
)
NUMBERS = "[" + ",".join("1" * 2000) + "]"
AXES = ",".join(f"a{k}: [{','.join('0123456789')}]" for k in range(9))
NAME = "b" + "".join(f"-{{a{k}}}" for k in range(9))
WIDE = "_t: {env: {" + ",".join(f"A{k}: 1" for k in range(5000)) + "}}\n"
TWICE = ", ".join(f"A{k}: '${{_i.env.A{k + 1}}}${{_i.env.A{k + 1}}}'" for k in range(40))
NESTED = "${" * 500 + "a" + "}" * 500

HOSTILE: dict[str, tuple[str | None, str]] = {
    "aliases of aliases": (LAUGHS, MANY_VALUES),
    "aliases one in another": (
        chain("_0: &a0 {client: 1}\n", "_{k}: &a{k} {{client: *a{before}}}\n", 3000), TOO_DEEP,
    ),
    "lists in lists": ("x: " + "[" * 200 + "]" * 200, TOO_DEEP),
    "lists that do not end": ("x: " + "[" * 200, TOO_DEEP),
    # The parser itself may be the first to refuse it.
    "more lists in lists": ("x: " + "[" * 100_000 + "]" * 100_000, "nest"),
    "more lists that do not end": ("x: " + "[" * 100_000, "nest"),
    "mappings in mappings": ("".join(" " * k + "a:\n" for k in range(500)), TOO_DEEP),
    "many values": (f"x: {{client: [{','.join([NUMBERS] * 13)}]}}", "more than 20,000 values"),
    "many benchmarks of a large template": (
        WIDE + "".join(f"b{k}: {{inherits: _t, env: {{B: 1}}, {BODY}}}\n" for k in range(100)),
        MANY_VALUES,
    ),
    "parents": (
        "".join(f"_t{k}: {{weight: 1}}\n" for k in range(60))
        + "x: {inherits: [" + ",".join(f"_t{k}" for k in range(60)) + "]}",
        "`inherits` of `x` in s.yaml:61: at most 50 parents, and at most 50 generations of them",
    ),
    "a matrix": (
        f"m: {{matrix: {{{AXES}}}, job: {{name: '{NAME}', {BODY}}}}}",
        MANY_VALUES,
    ),
    "a matrix of lists": (
        f"m: {{matrix: {{a: [{NUMBERS}]}}, "
        f"job: {{name: b, {BODY}, client: [{','.join([repr('{a}')] * 20)}]}}}}",
        MANY_VALUES,
    ),
    "includes of itself, twice": (None, "a configuration includes at most 1,000 files"),
    "references to references": (
        f"x: {{{BODY}, argv: ['${{_i.env.A0}}']}}\n_i: {{env: {{{TWICE}, A40: z}}}}\n",
        "more than 100 references",
    ),
    "references in references": (
        f"x: {{{BODY}, argv: ['{NESTED}']}}",
        "`${...}` in s.yaml:1: a configuration has at most 100 of them",
    ),
    "a number of 400 digits": (f"x: {{{BODY}, weight: {'9' * 400}}}", LONG),
    "a number of 5000 digits": (f"x: {{{BODY}, argv: [0x{'f' * 5000}]}}", LONG),
    "a number of 65 bits": (f"x: {{{BODY}, argv: [{2**64}]}}", LONG),
    "a number to the base of 60": (f"x: {{{BODY}, argv: [1{':1' * 100_000}]}}", LONG),
    "a number without digits": (f"x: {{{BODY}, argv: [!!int '']}}", "`` is not of type int"),
    "a long time": (f"x: {{{BODY}, max_duration: 1.0e+300}}", "up to 2,000,000, got `1e+300`"),
    "a long argument": (f"x: {{{BODY}, argv: [{'a' * 140_000}]}}", "has more than 131,071 bytes"),
    "a null character": (f'x: {{{BODY}, program: "a\\0b"}}', "a text that holds a null character"),
    "an object of Python": (
        f"x: {{{BODY}, argv: !!python/object/apply:os.system [id]}}",
        "unknown tag `!!python/object/apply:os.system` in s.yaml:1",
    ),
    "a mapping of Python": (f"x: !!python/dict {{{BODY}}}", "unknown tag `!!python/dict`"),
    "a key of Python": ("? !!python/name:os.system x\n: {}", "unknown tag `!!python/name:os"),
    "a list that says it is a text": ("x: {argv: !!str [a]}", "unknown tag `!!str`"),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_what_is_too_large_is_refused(here: Path, monkeypatch, case: str) -> None:
    monkeypatch.setattr(limits, "VALUES", 20_000)  # less work until the limit
    monkeypatch.setattr(limits, "REFERENCES", 100)
    text, message = HOSTILE[case]
    if text is None:
        text = "include: [0.yaml, 0.yaml]"
        for k in range(40):
            Path(f"{k}.yaml").write_text(f"include: [{k + 1}.yaml, {k + 1}.yaml]")
        Path("40.yaml").write_text(ONE)
    Path("s.yaml").write_text(text)
    with pytest.raises(ConfigError) as error:
        load(SuiteRequest("s.yaml"), facts())
    assert message in str(error.value)


def test_placeholders_that_make_a_long_text(here: Path) -> None:
    Path("s.yaml").write_text(f"x: {{{BODY}, argv: ['{'{milabench_base}' * 1000}']}}")
    with pytest.raises(ConfigError, match=r"in s\.yaml:1 make a text of 200,000 characters"):
        load(SuiteRequest("s.yaml"), facts(base=Path("/" + "b" * 199)))


CONDITIONS = {
    "9**9**9**9 > 1": "is not a known term",
    "(" * 240 + "1" + ")" * 240: "it is malformed",
    "not " * 124 + "1": "neither true nor false",
    "a" + ".b" * 240: "is not a known term",
    "-" * 480 + "1": "is",
    "1 < 2" + " and 1 < 2" * 100: "has 1,005 characters, and may have 500: split it",
}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_that_is_too_large(here: Path, condition: str) -> None:
    Path("s.yaml").write_text(f"x: {{{BODY}, requires_capabilities: ['{condition}']}}")
    with pytest.raises(ConfigError) as error:
        load(SuiteRequest("s.yaml"), facts())
    assert "in s.yaml:1" in str(error.value)
    assert CONDITIONS[condition] in str(error.value)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/dev/zero", "/dev/zero: cannot be read: neither a file nor a pipe"),
        ("pipe", "pipe: cannot be read: nothing has come from this pipe for 0.01 s"),
        ("large", "large: cannot be read: it has more than 0 MiB"),
    ],
)
def test_what_is_no_file(here: Path, monkeypatch, path: str, message: str) -> None:
    monkeypatch.setattr(limited, "PATIENCE", 0.01)
    monkeypatch.setattr(limits, "FILE_BYTES", 100)
    os.mkfifo("pipe")
    Path("large").write_text("#" * 101)
    with pytest.raises(ConfigError) as error:
        load(SuiteRequest(path), facts())
    assert str(error.value) == message


def test_a_configuration_through_a_pipe(here: Path) -> None:
    read, write = os.pipe()
    os.write(write, ONE.encode())
    os.close(write)
    (benchmark,) = load(SuiteRequest(f"/dev/fd/{read}"), facts(), without_programs=True).benchmarks
    os.close(read)
    assert benchmark.name == "x"


@pytest.mark.parametrize(
    "name",
    ["run.json", "Plan.JSON", "nodes", "traces", "x.D0.data", "x.D0.stdout", "report.html"],
)
def test_a_name_that_a_file_of_the_run_has(here: Path, name: str) -> None:
    Path("p.py").write_text("")
    Path("s.yaml").write_text(f"{ONE}{name}: {{{BODY}}}")
    with pytest.raises(ConfigError, match=f"^`{name}` in s.yaml:2 cannot name a benchmark: a file"):
        load(SuiteRequest("s.yaml"), facts())


def test_names_that_differ_in_case_alone(here: Path) -> None:
    Path("p.py").write_text("")
    Path("s.yaml").write_text(f"{ONE}X: {{{BODY}}}")
    with pytest.raises(ConfigError, match=r"^`X` in s.yaml:2 and `x` in s.yaml:1 differ in upper"):
        load(SuiteRequest("s.yaml"), facts())


def test_what_is_large_and_may_be(here: Path) -> None:
    body = ", ".join(f"--option-{k}: {k}" for k in range(100))
    text = "".join(f"b{k}: {{{BODY}, argv: {{{body}}}}}\n" for k in range(300))
    Path("s.yaml").write_text(text)
    assert len(load(SuiteRequest("s.yaml"), facts(), without_programs=True).benchmarks) == 300
