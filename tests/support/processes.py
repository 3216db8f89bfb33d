"""What runs on this machine."""

from pathlib import Path


def alive(text: str) -> list[int]:
    """Processes with ``text`` in their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if text.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found
