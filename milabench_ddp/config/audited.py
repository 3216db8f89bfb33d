"""The settings of nodes that are looked at: the shipped file ``settings.yaml``."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Literal

from ..node_settings import SettingSource, SettingValue
from .checks import Text
from .published import read_data
from .schema import VALIDATE, Benchmark

Cost = Literal["transfer", "p2p", "network", "memory", "cpu", "launch", "compute"]
"""What becomes slower: copies to a GPU, traffic between GPUs of a node, of nodes, ..."""


class AuditedSetting(SettingSource, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A setting: where it is read, what is good, and what it costs where it is not."""

    what: Text  # as a sentence calls it
    costs: tuple[Cost, ...]
    advice: Text
    source: Text  # an address
    good: Text | None = None  # a regular expression for a whole value
    same: bool = False  # whether all nodes should have the same, and all GPUs of a node
    # whether a device or a node that differs from most of its peers is broken, not only set so
    fails: bool = False
    action: Literal["", "isolate", "reboot", "reset"] = ""
    severity: Literal["warning", "note"] = "warning"

    def bad(self, values: Sequence[SettingValue]) -> list[SettingValue]:
        """The values that are not good: of GPUs that should be alike, all but the usual one."""
        odd = values[1:] if self.gpu and self.same else ()
        return [each for each in values if each in odd or not self._is_good(each.value)]

    def _is_good(self, value: str) -> bool:
        if self.good is not None:
            return re.fullmatch(self.good, value) is not None
        part, _, whole = value.partition(" of ")
        try:
            return not whole or float(part) >= float(whole)
        except ValueError:  # no numbers
            return True


@cache
def audited() -> Mapping[str, AuditedSetting]:
    return read_data("settings", AuditedSetting)


def audited_in(benchmarks: Iterable[Benchmark]) -> Mapping[str, AuditedSetting]:
    """The settings to read before these benchmarks: all for a validation, else none."""
    return audited() if any(VALIDATE in each.tags for each in benchmarks) else {}


def text_of_values(values: Sequence[SettingValue]) -> str:
    """The values of a node as text: ``7 x ACTIVE and 1 x DOWN (mlx5_3/1)``."""
    if not values:
        return ""
    usual, *others = values
    if not others and usual.count == 1:
        return usual.value
    rest = [f"{each.count} x {each.value} ({each.where})" for each in others]
    return " and ".join([f"{usual.count} x {usual.value}", *rest])
