"""The environment that the caller gave this process, before Python changed it."""

import os


def restore_environment() -> None:
    """Let what this process starts inherit the environment that this process was given.

    In the C locale Python sets ``LC_CTYPE`` for itself (PEP 538). The shell sets ``_`` to the
    path of each program that it starts.
    """
    os.environ.pop("_", None)
    if os.environ.get("LC_CTYPE") not in ("C.UTF-8", "C.utf8", "UTF-8"):
        return
    with open("/proc/self/environ", "rb") as file:
        given = file.read().split(b"\0")
    stated = [pair for pair in given if pair.startswith(b"LC_CTYPE=")]
    if not stated:
        del os.environ["LC_CTYPE"]
    else:
        os.environb[b"LC_CTYPE"] = stated[-1].partition(b"=")[2]
