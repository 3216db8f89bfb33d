"""Small trees of Python files."""

from pathlib import Path, PurePath
from textwrap import dedent

from perf.source_tree import Module


def planted(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))
    return root


def parsed(text: str, path: str = "a/x.py", *, script: bool = False) -> Module:
    return Module(PurePath(path), dedent(text), ("pkg",), script)
