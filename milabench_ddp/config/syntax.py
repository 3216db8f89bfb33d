"""Python that others wrote, and that is parsed, not executed."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_warnings() -> Iterator[None]:
    """Keep Python from printing what it thinks of the syntax, such as of ``1or 2`` or ``"\\d"``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
