"""The algorithm and the protocol that NCCL chose for an operation, as its own log tells them.

NCCL writes a line for each operation where NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=TUNING, which
costs small messages some microseconds. So one rank logs one operation that is not measured, and
nothing else: ``ncclResetDebugInit``, which NCCL has from 2.24 on, reads these variables again. The
log goes to stdout, which is a file meanwhile. With NCCL_DEBUG_FILE the process would end with
SIGABRT, because NCCL closes that file twice (seen in 2.30.7).
"""

import ctypes
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

LIBRARIES = ("libnccl.so.2", "librccl.so.1")
ALGORITHMS = ("Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT")
PROTOCOLS = ("LL", "LL128", "Simple")
_LINE = re.compile(r"NCCL INFO \w+: \d+ Bytes -> Algo (\w+) proto (\w+)")
_STDOUT = 1


def chosen(call: Callable[[], object]) -> dict[str, str]:
    """``algorithm`` and ``protocol`` of a call; empty where NCCL does not tell them.

    It does not for point-to-point operations, before 2.24, and where the user has asked for a log.
    """
    reset = _reset()
    if reset is None or os.environ.keys() & {"NCCL_DEBUG", "NCCL_DEBUG_FILE"}:
        call()
        return {}
    with os.fdopen(os.memfd_create("log"), "r+b") as file:  # no disk can be full
        with _stdout_to(file), _logged(reset):
            call()
        file.seek(0)
        text = file.read().decode(errors="replace")
    others = [line for line in text.splitlines(keepends=True) if "NCCL INFO" not in line]
    sys.stdout.write("".join(others))
    found = _LINE.findall(text)
    if not found:
        return {}
    algorithm, protocol = found[-1]
    return {"algorithm": _named(algorithm, ALGORITHMS), "protocol": _named(protocol, PROTOCOLS)}


@contextmanager
def _logged(reset: Callable[[], object]) -> Iterator[None]:
    subsystems = os.environ.get("NCCL_DEBUG_SUBSYS")
    os.environ.update(NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="TUNING")
    reset()
    try:
        yield
    finally:
        del os.environ["NCCL_DEBUG"], os.environ["NCCL_DEBUG_SUBSYS"]
        if subsystems is not None:
            os.environ["NCCL_DEBUG_SUBSYS"] = subsystems
        reset()


@contextmanager
def _stdout_to(file: IO[bytes]) -> Iterator[None]:
    """Let the process, also its libraries in C, write to a file in place of stdout."""
    flush = ctypes.CDLL(None).fflush
    sys.stdout.flush()
    flush(None)
    kept = os.dup(_STDOUT)
    os.dup2(file.fileno(), _STDOUT)
    try:
        yield
    finally:
        flush(None)
        os.dup2(kept, _STDOUT)
        os.close(kept)


def _reset() -> Callable[[], object] | None:
    """The function of the library that torch has loaded; None if it has none."""
    for name in LIBRARIES:
        try:
            # RTLD_NOLOAD: another one would know nothing of torch's operations
            found = ctypes.CDLL(name, mode=os.RTLD_NOLOAD | os.RTLD_NOW).ncclResetDebugInit
        except (OSError, AttributeError):
            continue
        found.restype = None
        return found
    return None


def _named(word: str, names: tuple[str, ...]) -> str:
    """NCCL writes the name, in capitals or not, or its number."""
    if word.isdigit():
        return names[int(word)] if int(word) < len(names) else word
    return next((name for name in names if name.upper() == word.upper()), word)
