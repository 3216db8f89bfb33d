"""What the page's script unpacks: sections and their series, compressed, some sections together.

A section is much like the next one. So the markup that tables have most of is replaced by single
characters first, which brings several sections into the window of the compression.
"""

import base64
import zlib
from collections.abc import Sequence
from typing import NamedTuple

from .html_table import SHADES

TOGETHER = 10  # sections
END, NEXT = "\x1e", "\x1f"  # no text of the page has such characters: see ``markup``
_NUMBER = '</td><td class="number'
MARKUP = (
    '</td></tr><tr><th scope="row">',
    '</th><td class="number">',
    f'{_NUMBER}">',
    *(f'{_NUMBER} {way}{k}">' for way in ("up", "down") for k in range(1, len(SHADES) + 1)),
)
FIRST = 0x0E  # the character that stands for the first of ``MARKUP``


class Packed(NamedTuple):
    """The contents of a section that its page holds compressed."""

    body: str  # HTML; empty where the page has it as it is
    courses: str  # JSON


def packed(sections: Sequence[Packed]) -> str:
    """Sections as text that no markup can be in: base64 of what zlib makes of them.

    There are the texts of ``MARKUP``, then the bodies, then the courses, each followed by ``END``.
    """
    bodies = []
    for section in sections:
        body = section.body
        for code, text in enumerate(MARKUP, FIRST):
            body = body.replace(text, chr(code))
        bodies.append(body)
    parts = [NEXT.join(MARKUP), *bodies, *(section.courses for section in sections)]
    return base64.b64encode(zlib.compress(END.join(parts).encode(), 9)).decode()
