"""Exit codes of what runs."""

from ..events import Outcome

EXIT_CODES = {Outcome.OK: 0, Outcome.FAILED: 1, Outcome.CANCELLED: 130}
