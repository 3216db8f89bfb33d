"""The least that a command on a configuration takes: parses the YAML, and prints as many lines."""

import sys
from pathlib import Path

import yaml


def main() -> None:
    """``bare_configuration.py CONFIG OUTPUT``: the lines are those of the file OUTPUT."""
    config, output = map(Path, sys.argv[1:])
    with config.open() as text:
        yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    with output.open() as lines:
        for line in lines:
            sys.stdout.write(line)


if __name__ == "__main__":
    main()
