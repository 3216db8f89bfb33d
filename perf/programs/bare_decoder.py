"""The least that reading result files takes: decodes each line."""

import sys
from pathlib import Path

import msgspec


def main() -> None:
    """``bare_decoder.py FOLDER``: its result files, one after another."""
    decode = msgspec.json.Decoder().decode
    for path in sorted(Path(sys.argv[1]).glob("*.data")):
        with path.open("rb") as lines:
            for line in lines:
                decode(line)


if __name__ == "__main__":
    main()
