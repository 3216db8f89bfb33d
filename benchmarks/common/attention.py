"""``--attention``: the kernel of scaled dot-product attention (SDPA), and which one computes it."""

import argparse
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.data import Dataset, default_collate

from benchmarks.common.data import Placement
from benchmarks.common.failure import UnsupportedError
from benchmarks.common.precision import PRECISIONS
from benchmarks.common.reference import cast
from benchmarks.common.strategies.dtypes import dtype_without_float8
from benchmarks.common.workload import Workload

BACKENDS = {
    "flash": SDPBackend.FLASH_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "math": SDPBackend.MATH,
}
_OPERATION = "_scaled_dot_product_"  # PyTorch's operations of the kernels begin like this


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--attention``."""
    text = "kernel of attention: PyTorch's choice (auto), or this one or an error"
    parser.add_argument("--attention", choices=("auto", *BACKENDS), default="auto", help=text)


@contextmanager
def only(name: str, *, or_math: bool = False) -> Iterator[None]:
    """Attention is computed by this kernel alone; ``auto`` allows all.

    ``or_math``: by plain products where the kernel cannot, such as in fp64.
    """
    if name == "auto":
        yield
        return
    allowed = [BACKENDS[name], SDPBackend.MATH] if or_math else [BACKENDS[name]]
    with sdpa_kernel(allowed):
        yield


def kernel(
    args: argparse.Namespace, workload: Workload, samples: Dataset[Any], device: torch.device
) -> str:
    """The kernels that compute the attention of a model, such as ``flash``.

    ``workload`` is the model with one block and few words, trained on the first of ``samples``.
    PyTorch is not asked but watched, because masks, dropout and shared keys decide.
    ``UnsupportedError``, with its reasons, if ``--attention`` names a kernel that cannot.
    """
    name, compute = args.attention, dtype_without_float8(args)
    dtype = PRECISIONS[compute].dtype
    batch = Placement(device)(tuple(default_collate([samples[0]])))
    with torch.random.fork_rng(devices=[]), torch.device(device):
        model = workload.make_model().to(dtype).train()
        with warnings.catch_warnings(record=True) as told, only(name), _Kernels() as seen:
            warnings.simplefilter("always")
            try:
                workload.loss(model, cast(batch, dtype)).backward()
            except RuntimeError as error:
                if name == "auto":
                    raise
                reasons = _reasons([str(warning.message) for warning in told]) or str(error)
                raise UnsupportedError(
                    f"--attention {name} cannot compute the attention of {args.model} in "
                    f"{compute} on {device.type}: {reasons}"
                ) from None
    return ", ".join(sorted(seen.names)) or "math"


class _Kernels(TorchDispatchMode):
    """The kernels of SDPA that run; ``math`` is made of plain products, and has no name."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: object, args: Any = (), kwargs: Any = None
    ) -> Any:
        name = func.__name__
        if name.startswith(_OPERATION):
            self.names.add(name.removeprefix(_OPERATION).split("_attention")[0])
        return func(*args, **kwargs or {})


def _reasons(told: list[str]) -> str:
    return " ".join(text.split(" (Triggered")[0].strip() for text in told)
