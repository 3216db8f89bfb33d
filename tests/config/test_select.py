from typing import Any

import pytest

from milabench_ddp.config.select import labels, parse_selection
from milabench_ddp.errors import SelectionError
from tests.support.configuration import entries, facts, suite

SUITE = entries("""
    resnet50: {group: vision, install_group: torch, tags: [cnn, multigpu], definition: /b/tv}
    resnet152: {group: vision, install_group: torch, tags: [cnn], program: /b/tv/main.py}
    bert: {group: nlp, install_group: hf, program: /b/nlp/train_bert.py}
""")


def chosen(*, select: tuple[str, ...] = (), exclude: tuple[str, ...] = ()) -> list[str]:
    selection = parse_selection(select, exclude, SUITE)
    return [name for name in SUITE if selection.reason_against(name) is None]


def test_what_a_benchmark_answers_to() -> None:
    assert labels(SUITE["resnet50"]) == {"vision", "torch", "cnn", "multigpu", "tv"}
    assert labels(SUITE["resnet152"]) >= {"tv", "cnn"}
    assert labels(SUITE["bert"]) == {"nlp", "hf", "train_bert"}


@pytest.mark.parametrize(
    ("select", "names"),
    [
        ((), ["resnet50", "resnet152", "bert"]),
        (("bert",), ["bert"]),
        (("vision",), ["resnet50", "resnet152"]),
        (("hf",), ["bert"]),
        (("multigpu",), ["resnet50"]),
        (("tv",), ["resnet50", "resnet152"]),
        (("train_bert",), ["bert"]),
        (("resnet*",), ["resnet50", "resnet152"]),
        (("*t",), ["resnet50", "resnet152", "bert"][-1:]),
        (("bert", "resnet50"), ["resnet50", "bert"]),
        (("@vision",), ["resnet50", "resnet152"]),
        (("@multi*", "bert"), ["resnet50", "bert"]),
        (("vis*",), ["resnet50", "resnet152"]),  # of no name, so of a group
    ],
)
def test_selecting(select: tuple[str, ...], names: list[str]) -> None:
    assert chosen(select=select) == names
    if select:
        rest = [name for name in SUITE if name not in names]
        assert chosen(exclude=select) == rest


def test_excluding_wins() -> None:
    assert chosen(select=("vision",), exclude=("resnet50",)) == ["resnet152"]


def test_an_exact_name_and_a_glob_of_names_take_no_group_of_the_same_name() -> None:
    suite = entries("""
        resnet50: {group: resnet50}
        resnet50-ddp: {group: resnet50}
        small: {tags: [resnet, resnet50]}
    """)

    def taken(word: str) -> list[str]:
        return sorted(parse_selection((word,), (), suite).selected)

    assert taken("resnet50") == ["resnet50"]
    assert taken("resnet50*") == ["resnet50", "resnet50-ddp"]
    assert taken("resnet*") == ["resnet50", "resnet50-ddp"]
    assert taken("@resnet50") == ["resnet50", "resnet50-ddp", "small"]
    assert taken("resnet") == ["small"]


@pytest.mark.parametrize("option", ["select", "exclude"])
def test_unknown_words(option: str) -> None:
    with pytest.raises(SelectionError) as error:
        chosen(**{option: ("bert", "resnet5")})
    assert str(error.value) == (
        f"--{option} resnet5: no benchmark, group or tag of that name: did you mean `resnet50`?"
    )
    hint = {"exclude": " (--exclude-nodes leaves nodes out)"}.get(option, "")
    with pytest.raises(SelectionError) as error:
        chosen(**{option: ("q*",)})
    assert str(error.value) == f"--{option} q*: no benchmark, group or tag of that name{hint}"
    with pytest.raises(SelectionError) as error:
        chosen(**{option: ("@bert",)})
    assert str(error.value) == (
        f"--{option} @bert: no group or tag of that name: did you mean `@train_bert`?"
    )


pytestmark = pytest.mark.usefixtures("here")

RUNNABLE = "program: main.py, plan: {method: per_gpu}, tags: [t]"
TWO = f"b: {{{RUNNABLE}}}\nother: {{{RUNNABLE}}}"


def reason(text: str, **options: Any) -> str | None:
    """Why `b` would not run, None where it would."""
    found = suite(text, **options)
    reasons = {skip.name: skip.reason for skip in found.skipped}
    assert ("b" in reasons) != ("b" in {benchmark.name for benchmark in found.benchmarks})
    return reasons.get("b")


OFF_SMALL = "presets: {small: {enabled: false}}"
OFF = f"b:\n  enabled: false\n  {RUNNABLE.replace(', ', chr(10) + '  ')}"


def test_nothing_against_it() -> None:
    assert reason(TWO) is None


def test_selection() -> None:
    assert reason(TWO, select=("other",)) == "not selected by --select"
    assert reason(TWO, exclude=("b",)) == "excluded by --exclude"
    assert reason(TWO, select=("b",), exclude=("t",)) == "excluded by --exclude"


def test_switched_off() -> None:
    assert reason(OFF) == "disabled (x.yaml:2)"
    assert reason(OFF.replace("false", "true"), overrides=("b.enabled=false",)) == (
        "disabled (--override b.enabled=false)"
    )


def test_switched_off_and_why() -> None:
    why = "\n  because: it needs data"
    assert reason(OFF + why) == "disabled: it needs data (x.yaml:2)"
    small = "presets: {small: {enabled: false, because: it takes long}}"
    text = f"b:\n  {{{RUNNABLE},\n  {small}}}"
    assert reason(text, preset="small") == (
        "disabled by the preset small: it takes long (x.yaml:3)"
    )
    assert reason(text, preset="full") is None


def test_switched_off_by_the_preset() -> None:
    text = f"b:\n  {{{RUNNABLE},\n  presets: {{small: {{enabled: false}}}}}}"
    assert reason(text, preset="small") == "disabled by the preset small (x.yaml:3)"
    assert reason(text, preset="full") is None
    assert reason(text, preset="small", overrides=("b.enabled=true",)) is None
    assert reason(text, preset="small", overrides=("b.enabled=false",)) == (
        "disabled (--override b.enabled=false)"
    )


def test_its_exact_name_enables_it_a_tag_or_a_pattern_does_not() -> None:
    assert reason(OFF, select=("b",)) is None
    assert reason(OFF, select=("t",)) == "disabled (x.yaml:2)"
    assert reason(OFF, select=("b*",)) == "disabled (x.yaml:2)"


def test_nothing_to_run() -> None:
    assert reason("b: {weight: 1}") == "has neither a `definition` nor a `program`"


def test_conditions() -> None:
    text = f"b: {{{RUNNABLE}, requires_capabilities: [\"gpu['count'] > 1\", 'len(nodes) >= 2']}}"
    assert reason(text, on=facts(node_count=2)) is None
    assert reason(text) == "needs len(nodes) >= 2, but len(nodes) is 1 (x.yaml:1)"
    assert reason(text, on=facts(gpu_count=1)) == (
        "needs gpu['count'] > 1, but gpu['count'] is 1 (x.yaml:1)"
    )


def test_ranks_are_the_devices_of_all_nodes_of_the_job() -> None:
    text = f"b: {{{RUNNABLE}, requires_capabilities: ['ranks >= 2']}}"
    assert reason(text, on=facts(node_count=2, gpu_count=1)) is None
    one = facts(node_count=1, gpu_count=1)
    assert reason(text, on=one) == "needs ranks >= 2, but ranks is 1 (x.yaml:1)"
    alone = text.replace("b: {", "b: {num_machines: 1, ")
    assert reason(alone, on=facts(node_count=2, gpu_count=1)) is not None
    assert reason(alone, on=facts(node_count=2, gpu_count=2)) is None


def test_a_condition_on_no_fact() -> None:
    text = f"b: {{{RUNNABLE}, requires_capabilities: ['1 > 2']}}"
    assert reason(text) == "needs 1 > 2 (x.yaml:1)"


def test_more_nodes_than_there_are() -> None:
    text = f"b: {{{RUNNABLE}, num_machines: 4}}"
    assert reason(text) == "needs 4 nodes, but there is 1 (num_machines in x.yaml:1)"
    assert reason(text, on=facts(node_count=3)) == (
        "needs 4 nodes, but there are 3 (num_machines in x.yaml:1)"
    )
    assert reason(text, on=facts(node_count=4)) is None


def test_templates_are_not_mentioned() -> None:
    found = suite(f"_t: {{weight: 1}}\nb: {{{RUNNABLE}, inherits: _t}}")
    assert [b.name for b in found.benchmarks] == ["b"]
    assert found.skipped == ()


@pytest.mark.parametrize(
    ("text", "options", "kind"),
    [
        (TWO, {"exclude": ("b",)}, "left out"),
        (TWO, {"select": ("other",)}, "left out"),
        (TWO, {"overrides": ("b.enabled=false",)}, "left out"),
        (OFF, {}, "disabled"),
        (f"b: {{{RUNNABLE}, {OFF_SMALL}}}", {"preset": "small"}, "disabled"),
        (f"b: {{{RUNNABLE}, num_machines: 4}}", {}, "unable"),
        ("b: {weight: 1}", {}, "unable"),
    ],
)
def test_what_keeps_it_from_running(text: str, options: dict[str, Any], kind: str) -> None:
    (skipped,) = suite(text, **options).skipped
    assert (skipped.name, skipped.kind) == ("b", kind)
