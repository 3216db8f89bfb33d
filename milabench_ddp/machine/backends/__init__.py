"""The kinds of device. To add one, write a back-end in a file here and name it in this dict."""

from collections.abc import Mapping

from .backend import Backend
from .cpu import CpuBackend
from .nvidia import NvidiaBackend
from .voir import AmdBackend, HabanaBackend, IntelBackend

# By the name that `--device` takes; without the option, the first that has a device is used.
BACKENDS: Mapping[str, Backend] = {
    "cuda": NvidiaBackend(),
    "rocm": AmdBackend(),
    "hpu": HabanaBackend(),
    "xpu": IntelBackend(),
    "cpu": CpuBackend(),
}
