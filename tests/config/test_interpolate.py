import sys

import pytest

from milabench_ddp.config.interpolate import interpolate
from milabench_ddp.config.tree import to_plain
from milabench_ddp.errors import ConfigError
from tests.support.configuration import entries


def interpolated(text: str) -> dict[str, object]:
    return {name: to_plain(entry) for name, entry in interpolate(entries(text)).items()}


def test_relative_and_absolute_with_their_types() -> None:
    found = interpolated("""
        _t: {weight: 3}
        resnet-50: {argv: {--x: '${..weight}', --y: 'w${..weight}'}, weight: 0.5, tags: [a, b]}
        b:
          num_machines: 2
          weight: ${_t.weight}
          tags: ${resnet-50.tags}
          requires_capabilities: ["len(nodes) >= ${..num_machines}"]
    """)
    assert found["resnet-50"]["argv"] == {"--x": 0.5, "--y": "w0.5"}  # type: ignore[index]
    assert found["b"] == {
        "num_machines": 2,
        "weight": 3,
        "tags": ["a", "b"],
        "requires_capabilities": ["len(nodes) >= 2"],
    }


def test_the_value_keeps_the_place_of_the_interpolation() -> None:
    (found,) = interpolate(entries("a:\n  weight: 1\n  max_duration: ${.weight}")).values()
    assert str(found.entries["max_duration"].origin) == "x.yaml:3"


def test_a_name_that_no_benchmark_has_is_a_key_of_the_same_benchmark() -> None:
    found = interpolated("""
        a: {num_machines: 2, requires_capabilities: ['len(nodes) >= ${num_machines}']}
        b: {weight: 3, env: {A: '${plan.method}'}, plan: {method: njobs}}
        c: {b: {weight: 4}, weight: '${b.weight}'}
    """)
    assert found["a"]["requires_capabilities"] == ["len(nodes) >= 2"]  # type: ignore[index]
    assert found["b"]["env"] == {"A": "njobs"}  # type: ignore[index]
    assert found["c"]["weight"] == 3  # type: ignore[index]


def test_an_escaped_interpolation_is_text() -> None:
    assert interpolated(r"a: {env: {A: '\${HOME}'}}") == {"a": {"env": {"A": "${HOME}"}}}


def test_a_template_may_hold_what_only_its_children_can_resolve() -> None:
    found = interpolated("_t: {weight: '${.missing}'}\na: {weight: 1}")
    assert found["a"] == {"weight": 1}


def test_omegaconf_is_not_imported_without_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "omegaconf", None)  # an import of it would raise
    assert interpolated("a: {argv: {--x: '{n_worker} $HOME'}}")


HINT = "(`${..key}` is a key of the same benchmark, `${name.key}` of another)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a:\n  env: {A: '${..weigth}'}",
            "`${..weigth}` in x.yaml:2 cannot be resolved: "
            f"Interpolation key '..weigth' not found (resolved to 'a.weigth') {HINT}",
        ),
        (
            "a:\n  weight: ${b.weight}\nb:\n  weight: ${a.weight}",
            "`${b.weight}` in x.yaml:2 cannot be resolved: "
            f"Recursive interpolation detected {HINT}",
        ),
        ("a:\n  weight: ${b.", "malformed interpolation `${b.` in x.yaml:2"),
        ("a: {tags: [a, '${b']}", "malformed interpolation `${b` in x.yaml:1"),
        (
            "a:\n  group: " + "${" * 11 + "b" + "}" * 11,
            f"malformed interpolation `{'${' * 11}b{'}' * 11}` in x.yaml:2: "
            "more than 10 nested braces",
        ),
        (
            "a:\n  group: '" + "${..weight}" * 10_001 + "'",
            "`${...}` in x.yaml:2: a configuration has at most 10,000 of them: state some values",
        ),
        (  # counted before it is parsed, which would take seconds
            "a:\n  group: '" + "${" * 10_001 + "'",
            "`${...}` in x.yaml:2: a configuration has at most 10,000 of them: state some values",
        ),
    ],
)
def test_bad_interpolations(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        interpolated(text)
    assert str(error.value) == message
