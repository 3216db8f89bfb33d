"""Golden files: what a user reads, kept whole. ``UPDATE_GOLDEN=1 pytest`` writes them anew."""

import os
from pathlib import Path

_HERE = Path(__file__).parent


def check_golden(name: str, text: str) -> None:
    path = _HERE / name
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()
