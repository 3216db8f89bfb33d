"""Strategies: texts with faults in them, and values that are often forgotten."""

from collections.abc import Sequence
from random import Random

from hypothesis import strategies as st

from tests.fuzz.mutations import SPOILS

SHELL = (
    "$(touch {canary})", "`touch {canary}`", ";touch {canary};", "\ntouch {canary}\n",
    "&& touch {canary}", "MILABENCH_NODE\ntouch {canary}", "\nMILABENCH_JOB\ntouch {canary}\n",
    "'; touch {canary}; '", "$HOME", '"; touch {canary}; "', "${{HOME}}", "a b", "#", "*", "~",
    "-n", "--", "\\", "'", '"', "!", "\t", "\r\n",
)  # fmt: skip
UNSEEN = (
    "\x1b[31m",
    "\x9b2J",
    "\u202e",
    "\u200b",
    "\ufeff",
    "\x00",
    "\x7f",
    "\r",
    "\x85",
    "\u2028",
)
"""Escapes, marks that change the direction of text, false line breaks."""

printable = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=12)


def spoilt(texts: Sequence[str]) -> st.SearchStrategy[bytes]:
    """One of these texts, with one to three faults: flipped, cut, doubled, of another encoding."""

    def spoil(text: str, faults: list[int], draw: Random) -> bytes:
        found = text.encode()
        for fault in faults:
            if found:
                try:
                    found = SPOILS[fault](draw, found)
                except (ValueError, UnicodeDecodeError):
                    continue
        return found

    kinds = st.lists(st.integers(0, len(SPOILS) - 1), min_size=1, max_size=3)
    return st.builds(spoil, st.sampled_from(texts), kinds, st.randoms(use_true_random=False))
