"""What cannot be seen in a text, shown by its number, so that what is read is what is there."""

# Control characters, such as those of a terminal's escapes; marks that turn the direction of a text
# around or have no width; halves of surrogate pairs, which have no bytes.
_UNSEEN = (
    *(code for code in range(0x20) if chr(code) not in "\t\n"),
    *range(0x7F, 0xA0),
    0xAD,
    0x61C,
    *range(0x200B, 0x2010),
    *range(0x202A, 0x202F),
    *range(0x2060, 0x2070),
    0xFEFF,
    *range(0xD800, 0xE000),
)
NUMBERS = {code: f"\\u{code:04x}" for code in _UNSEEN}


def visible(text: str) -> str:
    """The text with ``\\u202e`` and the like for what cannot be seen, but for tabs and newlines."""
    return text if text.isprintable() else text.translate(NUMBERS)
