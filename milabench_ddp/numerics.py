"""numpy, loaded at its first use, without a thread for each core.

Most commands calculate nothing, so they need not wait until numpy is loaded.

When numpy is loaded, its OpenBLAS starts a thread on each core, and each spins for some ms: beside
programs that are measured, and in vain, as nothing here multiplies large matrices. Where threads or
memory are limited, as on many login nodes, OpenBLAS would even end the process.
"""

import os
from typing import TYPE_CHECKING, Any

__all__ = ["Counts", "Floats", "Marks", "np"]

_THREADS = "OPENBLAS_NUM_THREADS"


class _Numpy:
    def __getattr__(self, name: str) -> Any:
        # Only OpenBLAS is to see it: `os.environ` becomes the environment of programs and of jobs.
        if _THREADS not in os.environ:
            os.putenv(_THREADS, "1")
        try:
            import numpy
        finally:
            if _THREADS not in os.environ:
                os.unsetenv(_THREADS)
        found = getattr(numpy, name)
        setattr(self, name, found)  # the next access needs no call
        return found


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int_]
    Floats = NDArray[np.float64]
    Marks = NDArray[np.bool_]
else:
    np = _Numpy()
    Counts = Floats = Marks = object
