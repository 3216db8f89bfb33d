"""A copy of the package, to which a test adds something as a developer would."""

import shutil
from pathlib import Path
from textwrap import dedent

from tests.support.workplace import Workplace

REPOSITORY = Path(__file__).resolve().parents[2]
COPIED = ("milabench_ddp", "benchmarks", "config", "runners", "docs/programs")


class PackageCopy(Workplace):
    """A copy of the package in its own folder: its command, and changes to it.

    ``touched`` has the files that were added or changed, relative to the repository's root.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "work")
        self.folder.mkdir()
        self.source = folder / "source"
        self.touched: set[str] = set()
        without_bytecode = shutil.ignore_patterns("__pycache__")
        for name in COPIED:
            shutil.copytree(REPOSITORY / name, self.source / name, ignore=without_bytecode)

    def environment(self) -> dict[str, str]:
        """The environment in which Python imports the copy."""
        return {**super().environment(), "PYTHONPATH": str(self.source)}

    def add_file(self, name: str, text: str) -> None:
        """Write a new file; the common indentation of the text is removed."""
        path = self.source / name
        assert not path.exists(), f"{name} is there already"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))
        self.touched.add(name)

    def add_line(self, name: str, after: str, line: str) -> None:
        """Insert a line below the only line that contains a marker."""
        path = self.source / name
        lines = path.read_text().splitlines()
        found = [number for number, text in enumerate(lines) if after in text]
        assert len(found) == 1, f"{name} has {len(found)} lines with {after!r}"
        lines.insert(found[0] + 1, line)
        path.write_text("\n".join(lines) + "\n")
        self.touched.add(name)

    def replace(self, name: str, old: str, new: str) -> None:
        """Replace a text that occurs once."""
        path = self.source / name
        text = path.read_text()
        assert text.count(old) == 1, f"{name} has {text.count(old)} times {old!r}"
        path.write_text(text.replace(old, new))
        self.touched.add(name)
