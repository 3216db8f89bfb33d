"""Containers of a runner profile: the options of srun, and the words before an agent, of each kind.

An agent is inside together with its programs: it supervises them by their pids, and they report
through its FIFOs. What each kind keeps from a container by itself is given to it here: the
variables of the node, its network, shared memory and GPUs, and standard input.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from ..errors import ConfigError
from .tree import expanded
from .validate import Text, Texts

ContainerKind = Literal["apptainer", "charliecloud", "enroot", "podman", "pyxis"]
_MOUNT = r"/[^\s:,]*"  # a colon, a comma or a space would begin another part of an option
Mount = Annotated[
    str, Meta(pattern=rf"^{_MOUNT}(:{_MOUNT})?\Z", description="PATH, or PATH:PATH-INSIDE")
]


class Container(Struct, frozen=True, forbid_unknown_fields=True):
    """The container in which agents and programs run."""

    kind: ContainerKind
    image: Text
    mounts: tuple[Mount, ...] = ()  # beside those of the run
    options: Texts = ()  # other words for its command

    @property
    def path(self) -> Path | None:
        """The file or folder of its image; None if the image is a name."""
        is_path = self.image.startswith(("/", "./", "../", "~"))
        if self.kind in ("apptainer", "charliecloud"):
            is_path = "://" not in self.image
        return expanded(self.image) if is_path else None


class Place(Struct, frozen=True):
    """What a container gets of its node."""

    mounts: tuple[str, ...]  # PATH:PATH-INSIDE
    folder: str  # in which it starts
    arch: str  # of its devices


Words = tuple[str, ...]
Added = tuple[Mapping[str, str | bool], Words]  # options of srun, words before an agent


def _apptainer(own: Container, place: Place) -> Added:
    # apptainer.org/docs/user/main: cli/apptainer_exec.html, gpu.html, bind_paths_and_mounts.html.
    # It hands variables and the current folder on.
    gpus = {"cuda": ("--nv",), "rocm": ("--rocm",)}.get(place.arch, ())
    binds = _each("--bind", place.mounts)
    return {}, ("apptainer", "exec", *gpus, *binds, *own.options, own.image)


def _charliecloud(own: Container, place: Place) -> Added:
    # charliecloud.io/latest/ch-run.html. It hands variables and /dev on.
    binds = _each("--bind", place.mounts)
    return {}, ("ch-run", f"--cd={place.folder}", *binds, *own.options, own.image, "--")


# It has no option for all variables (github.com/NVIDIA/enroot: doc/cmd/start.md), nor for a folder.
_ENROOT = (
    "exec enroot start $(compgen -e | grep -vxE 'HOME|(LD_LIBRARY_)?PATH|ENROOT_.*' "
    '| sed s/^/--env=/) "$@"'
)
_GO = 'cd "$0" && exec "$@"'


def _enroot(own: Container, place: Place) -> Added:
    # github.com/NVIDIA/enroot: doc/cmd/start.md, doc/image-format.md, conf/hooks/98-nvidia.sh
    nvidia = ("NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=compute,utility")
    mounts = [f"{mount}:none:x-create=auto,rbind" for mount in place.mounts]
    options = (*_each("--env", nvidia if place.arch == "cuda" else ()), *_each("--mount", mounts))
    start = ("bash", "-c", _ENROOT, "enroot", *options, *own.options, own.image)
    return {}, (*start, "bash", "-c", _GO, place.folder)


def _podman(own: Container, place: Place) -> Added:
    # docs.podman.io: podman-run(1); docs.nvidia.com: Container Toolkit, CDI; rocm.docs.amd.com.
    # Without a control group of its own it stays in that of its job, and needs its own pids.
    gpus: Mapping[str, Words] = {
        "cuda": ("--device=nvidia.com/gpu=all",),
        "rocm": ("--device=/dev/kfd", "--device=/dev/dri", "--group-add=keep-groups"),
    }
    words = (
        *("podman", "run", "--rm", "--interactive", "--pull=never", "--log-driver=none"),
        *("--cgroups=disabled", "--network=host", "--ipc=host", "--env-host"),
        *("--security-opt=label=disable", *gpus.get(place.arch, ()), f"--workdir={place.folder}"),
        *_each("--volume", place.mounts),
    )
    return {}, (*words, *own.options, "--entrypoint=", own.image)


def _pyxis(own: Container, place: Place) -> Added:
    # github.com/NVIDIA/pyxis/wiki/Usage. It hands on the variables that the image does not set.
    options: dict[str, str | bool] = {
        "container-image": own.image,
        "container-mounts": ",".join(place.mounts),
        "container-workdir": place.folder,
        "no-container-mount-home": True,  # its packages may be of another Python
        "no-container-entrypoint": True,
    }
    return options, ()


def _each(option: str, values: Iterable[str]) -> Words:
    return tuple(f"{option}={value}" for value in values)


CONTAINERS: Mapping[ContainerKind, Callable[[Container, Place], Added]] = {
    "apptainer": _apptainer,
    "charliecloud": _charliecloud,
    "enroot": _enroot,
    "podman": _podman,
    "pyxis": _pyxis,
}
"""What a kind adds to srun's options, and to the words before an agent."""


def place_of(own: Container, folders: Iterable[Path], arch: str) -> Place:
    """What a container gets of its node: these folders, and those that it states itself.

    Args:
        folders: what a run needs, at the same paths inside; in the first one the agent starts.
    """
    first, *_ = folders = [*folders]
    outer = [folder for folder in dict.fromkeys(folders) if folder != Path("/")]
    mounts = []
    for folder in outer:
        if any(each in folder.parents for each in outer):
            continue
        if not re.fullmatch(_MOUNT, str(folder)):
            raise ConfigError(
                f"{folder} cannot be mounted in a container: its path has a space, a colon or a "
                f"comma"
            )
        mounts.append(f"{folder}:{folder}")
    mounts += [mount if ":" in mount else f"{mount}:{mount}" for mount in own.mounts]
    return Place(tuple(dict.fromkeys(mounts)), str(first), arch)
