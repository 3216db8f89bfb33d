"""Stands in for torch, as far as its GPUs are asked for: $TORCH_GPUS has them, and its HIP."""

import json
import os
from types import SimpleNamespace

_told = json.loads(os.environ["TORCH_GPUS"])
_hidden = [name for name in os.environ if name.endswith("_VISIBLE_DEVICES")]
version = SimpleNamespace(hip=_told["hip"])
cuda = SimpleNamespace(
    init=lambda: None,
    device_count=lambda: 0 if _hidden else len(_told["gpus"]),
    get_device_properties=lambda index: SimpleNamespace(**_told["gpus"][index]),
)
