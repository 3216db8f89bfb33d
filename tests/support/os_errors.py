"""Errors of the operating system, with its own words."""

import os


def os_error(number: int, *file: str) -> OSError:
    """As a system call raises it: of the class that its number has."""
    return OSError(number, os.strerror(number), *file)
