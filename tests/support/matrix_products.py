"""The types in which the matrix products of a program run."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

NAMES = {
    torch.float64: "fp64",
    torch.float32: "fp32",
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
}
# Not the products of attention: on CPUs PyTorch runs some of them in fp32, whatever is asked for.
PRODUCTS = ("mm", "addmm", "convolution", "convolution_backward")


class MatrixProducts(TorchDispatchMode):
    """Counts the products with weights, by the type of their operands."""

    def __init__(self) -> None:
        super().__init__()
        self.types: Counter[str] = Counter()

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: object, args: Any = (), kwargs: Any = None
    ) -> Any:
        if func.__name__.split(".")[0] in PRODUCTS and not args[0].is_meta:
            self.types[NAMES[args[0].dtype]] += 1
        return func(*args, **kwargs or {})
