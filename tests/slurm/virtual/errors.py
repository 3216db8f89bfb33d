"""What a person is told."""


class ClusterError(Exception):
    """Something is missing or wrong: one sentence that says what, and what to do."""
