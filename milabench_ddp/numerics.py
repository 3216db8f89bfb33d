"""numpy, without a thread for each core.

When numpy is loaded, its OpenBLAS starts a thread on each core, and each spins for some ms: beside
programs that are measured, and in vain, as nothing here multiplies large matrices. Where threads or
memory are limited, as on many login nodes, OpenBLAS would even end the process.
"""

import os

__all__ = ["np"]

_THREADS = "OPENBLAS_NUM_THREADS"

# Only OpenBLAS is to see it: `os.environ` becomes the environment of programs and of jobs.
if _THREADS not in os.environ:
    os.putenv(_THREADS, "1")
try:
    import numpy as np
finally:
    if _THREADS not in os.environ:
        os.unsetenv(_THREADS)
