"""numpy and polars, each loaded at its first use, with one thread.

Most commands calculate nothing, so they need not wait until these are loaded.

When numpy is loaded, its OpenBLAS starts a thread on each core, and each spins for some ms: beside
programs that are measured, and in vain, as nothing here multiplies large matrices. Where threads or
memory are limited, as on many login nodes, OpenBLAS would even end the process. polars starts its
threads when it first needs them.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING

__all__ = ["Counts", "Floats", "Frame", "Marks", "np", "pl"]


class _Library:
    def __init__(self, name: str, threads: str, starts: str = "") -> None:
        self._name = name
        self._threads = threads  # the variable of their number
        self._starts = starts  # the function that starts them; empty: loading does

    def __getattr__(self, name: str) -> object:
        # Only the library is to see it: `os.environ` becomes the environment of programs and jobs.
        is_given = self._threads in os.environ
        if not is_given:
            os.putenv(self._threads, "1")
        try:
            library = import_module(self._name)
            if self._starts:
                getattr(library, self._starts)()
        finally:
            if not is_given:
                os.unsetenv(self._threads)
        found = getattr(library, name)
        setattr(self, name, found)  # the next access needs no call
        return found


if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    Counts = NDArray[np.int_]
    Floats = NDArray[np.float64]
    Marks = NDArray[np.bool_]
    Frame = pl.DataFrame
else:
    np = _Library("numpy", "OPENBLAS_NUM_THREADS")
    pl = _Library("polars", "POLARS_MAX_THREADS", starts="thread_pool_size")
    Counts = Floats = Marks = Frame = object
