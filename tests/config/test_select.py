import pytest

from milabench_ddp.config.select import labels, parse_selection
from milabench_ddp.errors import SelectionError
from tests.support.configuration import entries

SUITE = entries("""
    resnet50: {group: vision, install_group: torch, tags: [cnn, multigpu], definition: /b/tv}
    resnet152: {group: vision, install_group: torch, tags: [cnn], program: /b/tv/main.py}
    bert: {group: nlp, install_group: hf, program: /b/nlp/train_bert.py}
""")


def chosen(*, select: tuple[str, ...] = (), exclude: tuple[str, ...] = ()) -> list[str]:
    selection = parse_selection(select, exclude, SUITE)
    return [
        name
        for name, entry in SUITE.items()
        if selection.selects(name, entry) and not selection.excludes(name, entry)
    ]


def test_what_a_benchmark_answers_to() -> None:
    assert labels("resnet50", SUITE["resnet50"]) == {
        "resnet50", "vision", "torch", "cnn", "multigpu", "tv"
    }  # fmt: skip
    assert labels("resnet152", SUITE["resnet152"]) >= {"tv", "cnn"}
    assert labels("bert", SUITE["bert"]) == {"bert", "nlp", "hf", "train_bert"}


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
        (("bert, resnet50",), ["resnet50", "bert"]),
        (("bert", "resnet50", ""), ["resnet50", "bert"]),
    ],
)
def test_selecting(select: tuple[str, ...], names: list[str]) -> None:
    assert chosen(select=select) == names
    if select:
        rest = [name for name in SUITE if name not in names]
        assert chosen(exclude=select) == rest


def test_excluding_wins() -> None:
    assert chosen(select=("vision",), exclude=("resnet50",)) == ["resnet152"]


def test_only_a_very_name_insists() -> None:
    selection = parse_selection(("resnet50", "nlp", "resnet1*"), (), SUITE)
    assert [name for name in SUITE if selection.insists(name)] == ["resnet50"]


@pytest.mark.parametrize("option", ["select", "exclude"])
def test_unknown_words(option: str) -> None:
    with pytest.raises(SelectionError) as error:
        chosen(**{option: ("bert,resnet5",)})
    assert str(error.value) == (
        f"--{option} resnet5: no benchmark, group or tag of that name: did you mean `resnet50`?"
    )
    hint = {"exclude": " (--exclude-nodes leaves nodes out)"}.get(option, "")
    with pytest.raises(SelectionError) as error:
        chosen(**{option: ("q*",)})
    assert str(error.value) == f"--{option} q*: no benchmark, group or tag of that name{hint}"
