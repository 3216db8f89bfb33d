"""What is in the archives of evidence."""

import tarfile
from pathlib import Path

from milabench_ddp.results.run_dir import RunDir


def archived(run: Path, node: str) -> dict[str, str]:
    """The files of the archive of a node, without its name before theirs."""
    found = {}
    with tarfile.open(RunDir(run).evidence(node)) as archive:
        for member in archive:
            folder, _, name = member.name.partition("/")
            assert folder == node
            file = archive.extractfile(member)
            assert file is not None
            found[name] = file.read().decode()
    return found
