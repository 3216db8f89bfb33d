"""Small data sets."""

from typing import Any

from milabench_ddp.config.schema import FakeImageNet


def images(**changes: Any) -> FakeImageNet:
    values = {"images": 7, "val_images": 3, "classes": 3, "size": 16, "seed": 0, "folder": "F"}
    return FakeImageNet(**{**values, **changes})
