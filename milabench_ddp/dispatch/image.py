"""The image of a container: whether it is there, and the digest of what it holds."""

import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from ..config.container import Container
from ..config.tree import shown
from ..errors import DispatchError

_PODMAN = ("podman", "image", "inspect", "--format={{.Digest}}")


def image_facts(own: Container) -> dict[str, str]:
    """The kind of a container, its image and, where this host can tell it, the image's digest.

    Raises:
        DispatchError: the image is not there, or cannot be read.
    """
    facts = {"kind": own.kind, "image": own.image}
    if own.path is not None:
        try:
            return {**facts, "digest": f"sha256:{_digest(own.path)}"}
        except OSError as error:
            raise DispatchError(
                f"no image {shown(own.path)}: {error.strerror}: this host and the nodes must see "
                f"it under that path; make it, or name another as `container: {{image: ...}}`"
            ) from error
    if own.kind == "podman" and shutil.which("podman"):
        from .slurm_queue import output_of  # a run without podman must not load it

        digest = output_of(*_PODMAN, own.image)
        if digest is None:
            raise DispatchError(
                f"no image {own.image}: podman does not have it: `podman pull {own.image}` or "
                f"`podman load`, here and on each node, since a run downloads nothing"
            )
        facts["digest"] = digest.strip()
    return facts


def _digest(path: Path) -> str:
    """The SHA-256 of a file; of a folder that of the names, sizes and times of its files."""
    if not path.is_dir():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    found = hashlib.sha256()
    for line in _files(path):
        found.update(os.fsencode(line))
    return found.hexdigest()


def _files(top: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(top):
        folders.sort()
        for name in sorted(files):
            status = os.lstat(path := Path(folder, name))
            yield f"{path.relative_to(top)}\0{status.st_size}\0{status.st_mtime_ns}\n"
