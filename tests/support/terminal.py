"""A small terminal, with the few control sequences that rich uses."""

import re


def screen(text: str) -> list[str]:
    """The visible lines, without colours, after all cursor moves and erasures."""
    rows: list[str] = [""]
    row = 0
    for part in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", text):
        if part == "\n":
            row += 1
            rows += [""] * (row + 1 - len(rows))
        elif part.endswith("A") and part.startswith("\x1b"):
            row = max(0, row - int(part[2:-1] or 1))
        elif part.endswith("K") and part.startswith("\x1b"):
            rows[row] = ""
        elif part[0] not in "\x1b\r":
            rows[row] += part
    return [line.rstrip() for line in rows if line.strip()]
