"""Precisions by name: the types that a program computes in, and whether TF32 is allowed."""

import os
from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch
from torch import Tensor

from benchmarks.common.failure import SkippedError, UnsupportedError

DTYPE_NAMES = {
    torch.float64: "fp64",
    torch.float32: "fp32",
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
}
_ROCM_TF32 = ("gfx94", "gfx95")  # as torch.cuda.is_tf32_supported has it


@dataclass(frozen=True)
class Precision:
    """The types that a program computes in; ``activate`` applies them to the process."""

    name: str
    dtype: torch.dtype  # of parameters, gradients and inputs
    autocast: torch.dtype | None = None  # the type that autocast lowers operations to
    tf32: bool = False

    @property
    def compute_dtype(self) -> str:
        return "tf32" if self.tf32 else DTYPE_NAMES[self.autocast or self.dtype]

    def activate(self, device: torch.device) -> None:
        """Allow or forbid TF32 in this process: by default it is on in cuDNN and off in cuBLAS.

        Raises ``SkippedError`` if ``device`` does not have the precision, ``UnsupportedError`` if
        the environment forbids it.
        """
        if self.tf32 and device.type != "cuda":
            raise SkippedError(f"tf32 is a mode of CUDA's tensor cores: {device.type} has none")
        if self.tf32 and torch.version.hip is not None and rocm_arch(device)[:5] not in _ROCM_TF32:
            raise SkippedError(f"tf32 needs an AMD GPU of CDNA 3 or later, not {rocm_arch(device)}")
        if device.type == "cuda" and torch.version.hip is None and self._needs_ampere:
            major, minor = torch.cuda.get_device_capability(device)
            if major < 8:
                raise SkippedError(
                    f"{self.name} needs compute capability 8.0, {device} has {major}.{minor}"
                )
        torch.set_float32_matmul_precision("high" if self.tf32 else "highest")
        torch.backends.cudnn.allow_tf32 = self.tf32
        if self.tf32 and not _tf32_is_possible():
            raise UnsupportedError(
                "tf32 is forbidden by the environment (NVIDIA_TF32_OVERRIDE=0, or on ROCm no "
                "HIPBLASLT_ALLOW_TF32=1): products would run in fp32"
            )

    @property
    def _needs_ampere(self) -> bool:
        return self.tf32 or torch.bfloat16 in (self.dtype, self.autocast)

    def context(self, device: torch.device) -> AbstractContextManager[object]:
        return torch.autocast(device.type, self.autocast, enabled=self.autocast is not None)

    def scaler(self, device: torch.device, first_scale: float) -> torch.amp.GradScaler:
        """Scales the loss under autocast to fp16, where small gradients would be lost."""
        enabled = self.autocast is torch.float16
        return torch.amp.GradScaler(device.type, first_scale, enabled=enabled)


def rocm_arch(device: torch.device) -> str:
    """The architecture of an AMD GPU, such as ``gfx942``."""
    name: str = torch.cuda.get_device_properties(device).gcnArchName  # gfx942:sramecc+:xnack-
    return name.split(":")[0]


def require_fp8(device: torch.device) -> None:
    """Raise ``SkippedError`` if a device cannot multiply matrices in fp8."""
    if device.type != "cuda":
        raise SkippedError(f"fp8 needs the matrix cores of a GPU: {device.type} has none")
    fp8_type(device)


def fp8_type(device: torch.device) -> torch.dtype:
    """The fp8 type, of 4 bits of exponent, that ``torch._scaled_mm`` multiplies on a device.

    Raises ``SkippedError`` if the device has no fp8. The conditions are those of PyTorch
    (``testing/_internal/common_cuda.py``).
    """
    if device.type != "cuda":
        return torch.float8_e4m3fn
    if torch.version.hip is not None:
        arch = rocm_arch(device)
        if arch.startswith("gfx94"):
            return torch.float8_e4m3fnuz
        version = tuple(map(int, torch.version.hip.split(".")[:2]))
        if arch.startswith(("gfx95", "gfx120")) and version >= (6, 5):
            return torch.float8_e4m3fn
        raise SkippedError(f"{arch} has no fp8 under ROCm {torch.version.hip}")
    major, minor = torch.cuda.get_device_capability(device)
    if (major, minor) < (8, 9):
        raise SkippedError(f"fp8 needs compute capability 8.9, {device} has {major}.{minor}")
    return torch.float8_e4m3fn


def _tf32_is_possible() -> bool:
    """Whether PyTorch and the libraries below it use TF32 once it is allowed.

    ROCm needs ``HIPBLASLT_ALLOW_TF32``; NVIDIA's libraries obey ``NVIDIA_TF32_OVERRIDE`` above all.
    """
    return torch.backends.cuda.matmul.allow_tf32 and os.environ.get("NVIDIA_TF32_OVERRIDE") != "0"


def exact_on(device: torch.device) -> Precision:
    """The precision with the least rounding: fp64, or fp32 on an XPU that has no fp64."""
    lacks = device.type == "xpu" and not torch.xpu.get_device_properties(device).has_fp64
    return PRECISIONS["fp32" if lacks else "fp64"]


def at_least_fp32(values: Tensor) -> Tensor:
    """``values`` in fp32, or as they are in fp64: a loss of 16 bits would have 3 digits."""
    return values.to(torch.promote_types(values.dtype, torch.float32))


PRECISIONS = {
    precision.name: precision
    for precision in (
        Precision("fp64", torch.float64),
        Precision("fp32", torch.float32),
        Precision("tf32", torch.float32, tf32=True),
        Precision("fp16", torch.float16),
        Precision("bf16", torch.bfloat16),
        Precision("amp", torch.float32, autocast=torch.bfloat16),
        Precision("amp-fp16", torch.float32, autocast=torch.float16),
    )
}
PURE = ("fp32", "tf32", "fp16", "bf16")  # without autocast
