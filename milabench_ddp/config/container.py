"""Containers of a runner profile: the words before an agent, or options of srun, of each kind.

An agent is inside together with its programs: it supervises them by their pids, and they report
through its FIFOs. What each kind keeps from a container by itself is given to it here: the
variables of the node, its network, shared memory and GPUs, and standard input.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from ..errors import ConfigError
from .validate import Text, Texts

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


class Runtime(Struct, frozen=True):
    """A command, in which MOUNTS, GPUS, OPTIONS and IMAGE are filled in; of pyxis, for srun."""

    command: str  # as a shell has it
    mount: str
    gpus: Mapping[str, str] = {}  # by the kind of device


RUNTIMES: Mapping[str, Runtime] = {
    # apptainer.org/docs/user/main: cli/apptainer_exec.html, gpu.html, bind_paths_and_mounts.html
    "apptainer": Runtime(
        "apptainer exec GPUS MOUNTS OPTIONS IMAGE", "--bind={}", {"cuda": "--nv", "rocm": "--rocm"}
    ),
    # charliecloud.io/latest/ch-run.html
    "charliecloud": Runtime("ch-run MOUNTS OPTIONS IMAGE --", "--bind={}"),
    # github.com/NVIDIA/enroot: doc/cmd/start.md, doc/image-format.md, conf/hooks/98-nvidia.sh.
    # It has no option for all variables.
    "enroot": Runtime(
        'bash -c \'exec enroot start $(compgen -e | grep -vxE "HOME|(LD_LIBRARY_)?PATH|ENROOT_.*" '
        '| sed s/^/--env=/) "$@"\' enroot GPUS MOUNTS OPTIONS IMAGE',
        "--mount={}:none:x-create=auto,rbind",
        {"cuda": "-e NVIDIA_VISIBLE_DEVICES=all -e NVIDIA_DRIVER_CAPABILITIES=compute,utility"},
    ),
    # docs.podman.io: podman-run(1); docs.nvidia.com: Container Toolkit, CDI; rocm.docs.amd.com.
    # Without a control group of its own it stays in that of its job, and needs its own pids.
    "podman": Runtime(
        "podman run --rm --interactive --pull=never --log-driver=none --cgroups=disabled "
        "--network=host --ipc=host --env-host --security-opt=label=disable GPUS MOUNTS OPTIONS "
        "--entrypoint= IMAGE",
        "--volume={}",
        {
            "cuda": "--device=nvidia.com/gpu=all",
            "rocm": "--device=/dev/kfd --device=/dev/dri --group-add=keep-groups",
        },
    ),
    # github.com/NVIDIA/pyxis/wiki/Usage. Packages in a home folder may be of another Python.
    "pyxis": Runtime(
        "--container-image=IMAGE MOUNTS --no-container-mount-home --no-container-entrypoint "
        "OPTIONS",
        "--container-mounts={}",
    ),
}
_INSIDE = (
    'cd "$0" && { command -v "$1" >/dev/null || { echo "there is no $1 in" %s": name another as '
    'python of the runner profile" >&2; exit 127; }; } && exec "$@"'
)


def container_words(own: Container, folders: Sequence[Path], arch: str) -> tuple[Words, Words]:
    """The options of srun for a container, and the words before a command that runs in it.

    Args:
        folders: what a run needs, at the same paths inside; in the first one it starts.
        arch: the kind of its devices.
    """
    runtime, outer = RUNTIMES[own.kind], [each for each in folders if each != Path("/")]
    alone = [each for each in outer if not any(other in each.parents for other in outer)]
    pairs = [mount if ":" in mount else f"{mount}:{mount}" for mount in own.mounts]
    mounts = [*dict.fromkeys([f"{each}:{each}" for each in alone] + pairs)]
    for mount in mounts:
        if not re.fullmatch(_MOUNTS, mount):
            raise ConfigError(f"{mount}: a container cannot mount a path with a space, `:` or `,`")
    of_srun = own.kind == "pyxis"
    several = {
        "MOUNTS": [runtime.mount.format(m) for m in ([",".join(mounts)] if of_srun else mounts)],
        "GPUS": runtime.gpus.get(arch, "").split(),
        "OPTIONS": own.options,
    }
    words: list[str] = []
    for word in shlex.split(runtime.command):
        words += several.get(word, (word.replace("IMAGE", own.image),))
    inside = ("sh", "-c", _INSIDE % shlex.quote(own.image), str(folders[0]))
    return (tuple(words), inside) if of_srun else ((), (*words, *inside))
