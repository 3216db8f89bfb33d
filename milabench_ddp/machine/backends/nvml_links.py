"""The links between NVIDIA's GPUs, and what keeps their speed down, as NVML tells them."""

from ctypes import byref
from types import ModuleType

from .nvml import ask

_SPEED = 90  # the field value NVLINK_SPEED_MBPS_COMMON
_STEP = 5000  # MB/s


def nvlinks(nvml: ModuleType, handle: object) -> dict[str, object] | None:
    """The NVLinks of a GPU that are up: how many ``links``, ``gb_s`` of each one way, and whether a
    switch joins them (``switched``). None where it has no NVLinks.

    The driver tells the rate on the wire, 26.6 GB/s of an H100, which is 3 to 6 % above that of
    data; rates of data are multiples of 5 GB/s: 20 of NVLink 1, 25 of 2 to 4, 50 of 5.
    """
    links = range(nvml.NVML_NVLINK_MAX_LINKS)
    states = {link: ask(nvml, nvml.nvmlDeviceGetNvLinkState, handle, link) for link in links}
    up = [link for link, state in states.items() if state == nvml.NVML_FEATURE_ENABLED]
    if all(state is None for state in states.values()):
        return None
    speeds = ask(nvml, nvml.nvmlDeviceGetFieldValues, handle, [_SPEED]) or ()
    told = [value.value.uiVal for value in speeds if not value.nvmlReturn]
    ends = {ask(nvml, nvml.nvmlDeviceGetNvLinkRemoteDeviceType, handle, link) for link in up}
    return {
        "links": len(up),
        "gb_s": told[0] // _STEP * _STEP / 1000 if told and up else None,
        "switched": ends == {nvml.NVML_NVLINK_DEVICE_TYPE_SWITCH},
    }


def fabric_state(nvml: ModuleType, handle: object) -> str | None:
    """Whether a GPU has joined its NVSwitch fabric; None without such a fabric."""
    info = nvml.c_nvmlGpuFabricInfo_t()
    if ask(nvml, nvml.nvmlDeviceGetGpuFabricInfo, handle, byref(info)) is None:
        return None
    if info.state == nvml.NVML_GPU_FABRIC_STATE_COMPLETED:
        return "completed" if info.status == nvml.NVML_SUCCESS else f"error {info.status}"
    return {
        nvml.NVML_GPU_FABRIC_STATE_NOT_STARTED: "not started",
        nvml.NVML_GPU_FABRIC_STATE_IN_PROGRESS: "in progress",
    }.get(info.state)
