"""Containers of a runner profile: the words before an agent, or options of srun, of each kind.

An agent is inside together with its programs, whose pids and FIFOs do not reach outside.
"""

import re
import shlex
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from ..errors import ConfigError
from .checks import Text, Texts

Words = tuple[str, ...]
_MOUNTS = r"^/[^\s:,]*(:/[^\s:,]*)?\Z"  # no separator of an option is in a path
Mount = Annotated[str, Meta(pattern=_MOUNTS, description="PATH, or PATH:PATH-INSIDE")]


class Container(Struct, frozen=True, forbid_unknown_fields=True):
    """The container in which agents and programs run."""

    kind: Literal["apptainer", "charliecloud", "enroot", "podman", "pyxis"]
    image: Text
    mounts: tuple[Mount, ...] = ()  # beside those of the run
    options: Texts = ()  # other words for its command

    @property
    def path(self) -> Path | None:
        """The absolute path of its image; None if the image is a name."""
        is_path = self.kind in ("apptainer", "charliecloud") and "://" not in self.image
        return Path(self.image).absolute() if is_path or self.image[0] in "./" else None

    def facts(self) -> dict[str, str]:
        """The kind, the image and, of a path, its digest; raises ConfigError if it is not there."""
        facts = {"kind": self.kind, "image": self.image}
        if self.path is None:  # each node has its own
            return facts
        try:
            return {**facts, "digest": f"sha256:{_digest(self.path)}"}
        except OSError as error:
            raise ConfigError(
                f"no image {self.image}: {error.strerror}: make it, or name another as `container: "
                f"{{image: ...}}`; this host and all nodes must see it under that path"
            ) from error


def _digest(path: Path) -> str:
    """The SHA-256 of a file; of a folder that of the names, sizes and times of its files."""
    import hashlib  # every command loads this file, and few a container (3 ms)

    from ..files import open_file

    if not path.is_dir():
        with open_file(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    found = hashlib.sha256()
    for each in sorted(path.rglob("*")):
        told, name = each.lstat(), each.relative_to(path)
        if not stat.S_ISDIR(told.st_mode):
            found.update(f"{name}\0{told.st_size}\0{told.st_mtime_ns}\n".encode(errors="replace"))
    return found.hexdigest()


# The command of each kind as a shell has it, of pyxis options of srun, and a mount. It hands on the
# variables, the network and the shared memory of the node, and standard input.
RUNTIMES: Mapping[str, tuple[str, str]] = {
    "apptainer": ("apptainer exec {gpus} {mounts} {options} {image}", "--bind={}"),
    "charliecloud": ("ch-run {mounts} {options} {image} --", "--bind={}"),
    "enroot": (
        'bash -c \'exec enroot start $(compgen -e | grep -vxE "HOME|(LD_LIBRARY_)?PATH|ENROOT_.*" '
        '| sed s/^/--env=/) "$@"\' enroot {gpus} {mounts} {options} {image}',
        "--mount={}:none:x-create=auto,rbind",
    ),
    # Without a control group of its own it stays in that of its job, and needs its own pids.
    "podman": (
        "podman run --rm --interactive --pull=never --log-driver=none --cgroups=disabled "
        "--network=host --ipc=host --env-host --security-opt=label=disable {gpus} {mounts} "
        "{options} --entrypoint= {image}",
        "--volume={}",
    ),
    # Packages in a home folder may be of another Python.
    "pyxis": (
        "--container-image={image} {mounts} --no-container-mount-home --no-container-entrypoint "
        "{options}",
        "--container-mounts={}",
    ),
}
GPUS: Mapping[tuple[str, str], str] = {
    ("apptainer", "cuda"): "--nv",
    ("apptainer", "rocm"): "--rocm",
    ("enroot", "cuda"): "--env=NVIDIA_VISIBLE_DEVICES=all --env=NVIDIA_DRIVER_CAPABILITIES=all",
    ("podman", "cuda"): "--device=nvidia.com/gpu=all",
    ("podman", "rocm"): "--device=/dev/kfd --device=/dev/dri --group-add=keep-groups",
}
_INSIDE = (
    'cd "$0" && { command -v "$1" >/dev/null || { echo "there is no $1 in" %s": name another as '
    'python of the runner profile" >&2; exit 127; }; } && exec "$@"'
)


def container_words(own: Container, folders: Sequence[Path], arch: str) -> tuple[Words, Words]:
    """The options of srun for a container, and the words before a command that runs in it.

    It gets ``folders`` at the same paths, and starts in the first; ``arch`` is of its devices.
    """
    outer = [each for each in folders if each != Path("/")]
    pairs = [f"{each}:{each}" for each in outer if not any(o in each.parents for o in outer)]
    pairs += [mount if ":" in mount else f"{mount}:{mount}" for mount in own.mounts]
    for mount in (mounts := [*dict.fromkeys(pairs)]):
        if not re.fullmatch(_MOUNTS, mount):
            raise ConfigError(f"{mount}: a container cannot mount a path with a space, `:` or `,`")
    is_pyxis = own.kind == "pyxis"
    command, of_mount = RUNTIMES[own.kind]
    text = command.format(
        gpus=GPUS.get((own.kind, arch), ""),
        mounts=shlex.join(map(of_mount.format, [",".join(mounts)] if is_pyxis else mounts)),
        options=shlex.join(own.options),
        image=shlex.quote(own.image),
    )
    words = tuple(shlex.split(text))
    inside = ("sh", "-c", _INSIDE % shlex.quote(own.image), str(folders[0]))
    return (words, inside) if is_pyxis else ((), (*words, *inside))
