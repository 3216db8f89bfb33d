"""Amounts of memory, as people and milabench write them."""

import re

from ..errors import ConfigError
from .tree import Leaf, Node, describe

_AMOUNT = re.compile(r"\s*(\d+(?:\.\d*)?)\s*([A-Za-z]*)\s*")
_BYTES: dict[str, int] = {
    "": 2**20,  # a bare number counts MiB
    "b": 1,
    **{f"{letter}{unit}": 2**power for letter, power in zip("kmgt", (10, 20, 30, 40), strict=True)
       for unit in ("ib", "io")},
    **{f"{letter}{unit}": 1000**power for letter, power in zip("kmgt", (1, 2, 3, 4), strict=True)
       for unit in ("b", "o")},
}  # fmt: skip


def mebibytes(node: Node) -> float:
    """The MiB of ``3885 MiB``, ``80 GiB``, ``4Go`` or a bare number of MiB.

    Raises ConfigError for anything else.
    """
    if isinstance(node, Leaf) and not isinstance(node.value, bool):
        found = _AMOUNT.fullmatch(str(node.value))
        factor = _BYTES.get(found[2].lower()) if found else None
        if found and factor:
            return float(found[1]) * (factor / 2**20)
    raise ConfigError(
        f"wrong amount of memory in {node.origin}: "
        f"expected one such as `81920 MiB`, got {describe(node)}"
    )
