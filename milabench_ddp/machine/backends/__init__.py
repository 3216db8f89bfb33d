"""The device back-ends. To add one, write it in a file here and name it in ``BACKENDS``."""

from collections.abc import Mapping

from .amd import AmdBackend
from .backend import Backend
from .cpu import CpuBackend
from .nvidia import NvidiaBackend
from .voir import HabanaBackend, IntelBackend

# By the name that `--device` takes. Without the option, the first with a device is used.
BACKENDS: Mapping[str, Backend] = {
    "cuda": NvidiaBackend(),
    "rocm": AmdBackend(),
    "hpu": HabanaBackend(),
    "xpu": IntelBackend(),
    "cpu": CpuBackend(),
}
