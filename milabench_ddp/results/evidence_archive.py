"""The archive of what is known of a node that failed: ``<run>/evidence/<node>.tar.gz``."""

import io
import tarfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ..errors import disk_errors
from ..files import read_bytes, replace_file
from ..hidden import SECRETS
from .run_dir import RunDir, make_folder

_LARGEST = 64 << 20  # bytes of an archive that is added to


def add_evidence(run: RunDir, node: str, files: Mapping[str, str]) -> None:
    """Add files without their secrets to the archive of a node, or make it; all of it is replaced.

    Raises:
        RunDirError: it cannot be written.
    """
    path = run.evidence(node)
    make_folder(path.parent)
    contents = _read(path)
    for name, text in files.items():
        contents[name] = SECRETS.hide_all(text).encode(errors="backslashreplace")
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w:gz") as archive:
        for name, content in sorted(contents.items()):
            member = tarfile.TarInfo(f"{node}/{name}")
            member.size, member.mtime = len(content), int(time.time())
            archive.addfile(member, io.BytesIO(content))
    with disk_errors("write", path):
        replace_file(path, whole.getvalue())


def _read(path: Path) -> dict[str, bytes]:
    contents = {}
    with suppress(OSError, tarfile.TarError, EOFError):  # there is none yet, or it is damaged
        packed = io.BytesIO(read_bytes(path, _LARGEST))
        with tarfile.open(fileobj=packed, mode="r:gz") as archive:
            for member in archive:
                if file := archive.extractfile(member):
                    contents[member.name.partition("/")[2]] = file.read(_LARGEST)
    return contents
