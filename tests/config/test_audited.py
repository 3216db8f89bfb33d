"""The shipped settings: each can be found good and found bad, and says what it costs."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from milabench_ddp.config.audited import AuditedSetting, audited, audited_in, text_of_values
from milabench_ddp.config.published import data_sheets
from milabench_ddp.config.shipped import shipped_suites
from milabench_ddp.node_settings import SettingValue
from tests.support.settings_tree import SPOILT, PlantedNode, is_judged_alone


def test_every_setting_is_planted() -> None:
    assert set(SPOILT) == set(audited())
    assert len(audited()) >= 40
    assert "settings" not in shipped_suites()
    assert data_sheets()


@pytest.mark.parametrize("name", audited())
def test_a_setting_is_good_on_a_healthy_node_and_bad_where_it_is_spoilt(
    tmp_path: Path, name: str
) -> None:
    setting, node = audited()[name], PlantedNode(tmp_path)
    healthy = node.settings().get(name, ())
    assert setting.bad(healthy) == []
    spoil, value = SPOILT[name]
    spoil(node)
    spoilt = node.settings()[name]
    if is_judged_alone(setting):
        assert value in {each.value for each in setting.bad(spoilt)}
    else:
        assert setting.bad(spoilt) == []
        assert setting.same
    assert is_judged_alone(setting) or text_of_values(spoilt) != text_of_values(healthy)


@pytest.mark.parametrize("name", audited())
def test_a_setting_says_what_it_costs_and_what_to_do(name: str) -> None:
    setting = audited()[name]
    assert setting.costs
    assert setting.good or setting.of or setting.same
    assert setting.source.startswith("https://")
    assert bool(setting.read) != bool(setting.gpu)
    assert bool(setting.action) == setting.fails


def setting(**conditions: object) -> AuditedSetting:
    return AuditedSetting(
        what="x", costs=("cpu",), advice="y", source="https://z", read=("f",), **conditions
    )


@pytest.mark.parametrize(
    ("conditions", "value", "is_bad"),
    [
        ({"good": "on|off"}, "on", False),
        ({"good": "on|off"}, "onwards", True),
        ({"of": "all"}, "16", False),
        ({"of": "all"}, "8 of 16", True),
        ({"of": "all"}, "700 of 650", False),  # raised
        ({"of": "all"}, "Unknown of 16", False),
        ({}, "anything", False),
    ],
)
def test_what_is_bad(conditions: dict[str, object], value: str, is_bad: bool) -> None:
    told = (SettingValue(value),)
    assert setting(**conditions).bad(told) == list(told) * is_bad


def test_of_gpus_that_should_be_alike_those_that_differ_from_most_are_bad() -> None:
    values = SettingValue("18", 7), SettingValue("17", 1, "GPU 3")
    assert setting(gpu="nvlink.links", same=True).bad(values) == [values[1]]
    assert setting(gpu="nvlink.links", same=True).bad(values[:1]) == []
    assert setting(same=True).bad(values) == []


def test_settings_are_read_for_a_validation_alone() -> None:
    def benchmark(*tags: str) -> object:
        return SimpleNamespace(tags=frozenset(tags))

    assert audited_in([benchmark("gpu"), benchmark("gpu", "validate")]) == audited()
    assert audited_in([benchmark("gpu"), benchmark()]) == {}


def test_values_as_text() -> None:
    assert text_of_values(()) == ""
    assert text_of_values((SettingValue("hpc"),)) == "hpc"
    assert text_of_values((SettingValue("400", 8),)) == "8 x 400"
    both = SettingValue("400", 7), SettingValue("200", 1, "mlx5_7/1")
    assert text_of_values(both) == "7 x 400 and 1 x 200 (mlx5_7/1)"
