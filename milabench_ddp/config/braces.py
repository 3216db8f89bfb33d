"""``{name}`` in text: the one scanner that matrix and run-time placeholders share.

Only a name in braces is a placeholder. ``{{name}}`` stands for ``{name}``; ``${name}`` belongs to
the interpolation; every other brace (``{}``, a lone one, JSON) is itself.
"""

import re
from collections.abc import Callable

_FIELD = re.compile(r"\{\{([A-Za-z_][\w.-]*)\}\}|(?<!\$)\{([A-Za-z_][\w.-]*)\}")


def fields(text: str) -> list[str]:
    """The names of the placeholders in ``text``, in order."""
    return [found[2] for found in _FIELD.finditer(text) if found[2]]


def only_field(text: str) -> str | None:
    """The name, where the whole of ``text`` is one placeholder."""
    found = _FIELD.fullmatch(text)
    return found[2] if found else None


def fill(text: str, value: Callable[[str], str | None], *, unescape: bool) -> str:
    """Replace each placeholder by its value; None leaves it as it is.

    ``unescape`` turns ``{{name}}`` into ``{name}``: the last of several passes does that.
    """

    def replacement(found: re.Match[str]) -> str:
        if found[1]:
            return f"{{{found[1]}}}" if unescape else found[0]
        filled = value(found[2])
        return found[0] if filled is None else filled

    return _FIELD.sub(replacement, text)
