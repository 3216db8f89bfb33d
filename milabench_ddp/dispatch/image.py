"""The image of a container: whether it is there, and the digest of what it holds."""

import hashlib
import shutil
import stat
from pathlib import Path

from ..config.container import Container
from ..errors import DispatchError
from .slurm_queue import output_of


def image_facts(own: Container) -> dict[str, str]:
    """The kind of a container, its image and, where this host can tell it, the image's digest.

    Raises:
        DispatchError: the image is not there, or cannot be read.
    """
    facts, advice = {"kind": own.kind, "image": own.image}, "make it, or name another"
    try:
        if own.path is not None:
            return {**facts, "digest": f"sha256:{_digest(own.path)}"}
        if own.kind != "podman" or not shutil.which("podman"):
            return facts
        inspect = ("podman", "image", "inspect", "--format={{.Digest}}")
        if digest := output_of(*inspect, own.image):
            return {**facts, "digest": digest.strip()}
        why, advice = "podman does not have it", "`podman pull` or `podman load` it"
    except OSError as error:
        why = f"{error.strerror}"
    raise DispatchError(
        f"no image {own.image}: {why}: {advice}; this host and all nodes must have it"
    )


def _digest(path: Path) -> str:
    """The SHA-256 of a file; of a folder that of the names, sizes and times of its files."""
    if not path.is_dir():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    found = hashlib.sha256()
    for each in sorted(path.rglob("*")):
        told, name = each.lstat(), each.relative_to(path)
        if not stat.S_ISDIR(told.st_mode):
            found.update(f"{name}\0{told.st_size}\0{told.st_mtime_ns}\n".encode(errors="replace"))
    return found.hexdigest()
