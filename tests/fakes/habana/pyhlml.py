"""Stands in for Habana's Python package: four devices, as voir's back-end asks for them."""

# ruff: noqa: N802 - the names are those of pyhlml
from types import SimpleNamespace


class HLMLError(Exception):
    pass


class AlreadyInitializedError(HLMLError):
    pass


hlml_error = SimpleNamespace(HLMLError_AlreadyInitialized=AlreadyInitializedError)


def hlmlInit():
    pass


def hlmlShutdown():
    pass


def hlmlDeviceGetCount():
    return 4


def hlmlDeviceGetHandleByIndex(index):
    return index


def hlmlDeviceGetUUID(handle):
    return f"01P0-HL2080A0-15-TNPS34-{handle}".encode()


def hlmlDeviceGetMinorNumber(handle):
    return handle


def hlmlDeviceGetName(handle):
    return b"HL-225"


def hlmlDeviceGetMemoryInfo(handle):
    return SimpleNamespace(used=768 * 2**20, total=98304 * 2**20)


def hlmlDeviceGetUtilizationRates(handle):
    return 10 * handle


def hlmlDeviceGetTemperature(handle, sensor):
    return 30 + handle


def hlmlDeviceGetPowerUsage(handle):
    return 90_000
