"""What was asked for is right, and could not be provided."""


class ProvideFailure(Exception):  # noqa: N818  (it is an outcome, as that of a benchmark is)
    """Data or an environment could not be made; ``str()`` is the whole message, exit code 1."""
