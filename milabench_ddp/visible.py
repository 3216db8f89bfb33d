"""Shows the invisible characters of a text by their numbers, so that a reader sees them."""

# Control characters, such as those of a terminal's escapes; marks that turn the direction of a text
# around, break its lines or have no width; letters and selectors that show nothing; tags, which
# spell out invisible words; halves of surrogate pairs, which have no bytes.
_UNSEEN = (
    *(code for code in range(0x20) if chr(code) not in "\t\n"),
    *range(0x7F, 0xA0),
    0xAD,
    0x34F,
    *range(0x600, 0x606),
    0x61C,
    0x6DD,
    0x70F,
    *range(0x115F, 0x1161),
    *range(0x17B4, 0x17B6),
    *range(0x180B, 0x1810),
    *range(0x200B, 0x2010),
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    0x3164,
    *range(0xD800, 0xE000),
    *range(0xFE00, 0xFE10),
    0xFEFF,
    0xFFA0,
    *range(0xFFF0, 0xFFFC),
    *range(0x1BCA0, 0x1BCA4),
    *range(0x1D173, 0x1D17B),
    *range(0xE0000, 0xE0080),
    *range(0xE0100, 0xE01F0),
)
NUMBERS = {code: f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}" for code in _UNSEEN}
_IN_LINE = NUMBERS | {ord("\n"): " "}


def visible(text: str) -> str:
    """The text with ``\\u202e`` and the like for invisible characters, except tabs and newlines."""
    return text if _is_plain(text) else text.translate(NUMBERS)


def in_line(text: str) -> str:
    """The same in one line: with blanks for newlines, so that it begins no line itself."""
    return text if _is_plain(text) else text.translate(_IN_LINE)


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable()
