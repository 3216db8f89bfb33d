"""The command lines of containers, each as the documentation of its runtime has them."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.codec import decode, encode
from milabench_ddp.config.container import CONTAINERS, Container, place_of
from milabench_ddp.config.runner_profile import (
    RunnerProfile,
    contained,
    option_words,
    read_profile,
)
from milabench_ddp.config.shipped import package_folders
from milabench_ddp.errors import ConfigError
from tests.golden import check_golden
from tests.support.configuration import write

IMAGES = {"podman": "torch:2.15", "pyxis": "nvcr.io#nvidia/pytorch:25.10-py3"}
MOUNTS = "wrong value for `container.mounts[0]` in r.yaml:2: expected PATH, or PATH:PATH-INSIDE"
FOLDERS = [Path("/shared/work"), Path("/shared/work/runs"), Path("/"), Path("/home/me/suite")]


def own(kind: Any, image: str = "/shared/torch.img", **changes: Any) -> Container:
    return Container(kind, image, **changes)


def test_golden() -> None:
    lines = []
    for kind in CONTAINERS:
        image = IMAGES.get(kind, "/shared/torch.img")
        made = own(kind, image, mounts=("/data", "/scratch:/tmp/scratch"))
        for arch in ("cuda", "rocm", "cpu"):
            srun, prefix = CONTAINERS[kind](made, place_of(made, FOLDERS, arch))
            words = [*(["srun", *option_words(srun)] if srun else ()), *prefix, "python3", "a.py"]
            lines += [f"# {kind}, {arch}", shlex.join(words)]
    check_golden("config/containers.sh", "\n".join(lines) + "\n")


@pytest.mark.parametrize("kind", CONTAINERS)
def test_a_profile_has_what_its_container_adds_once(kind: Any) -> None:
    profile = RunnerProfile(
        "slurm", srun_options={"mpi": "none"}, command_prefix=("numactl",), container=own(kind)
    )
    made = contained(profile, FOLDERS, "cuda")
    srun, prefix = CONTAINERS[kind](
        own(kind), place_of(own(kind), [*FOLDERS, *package_folders()], "cuda")
    )
    assert made.srun_options == {**srun, "mpi": "none"}
    assert made.command_prefix == ("numactl", *prefix)
    assert made.python == "python3"
    assert contained(replace(profile, python="/opt/python"), [], "cuda").python == "/opt/python"
    assert decode(encode(made), RunnerProfile) == made


def test_without_a_container_nothing_is_added() -> None:
    profile = RunnerProfile("slurm", command_prefix=("numactl",))
    assert contained(profile, FOLDERS, "cuda") is profile


def test_a_folder_inside_another_is_mounted_with_it() -> None:
    place = place_of(own("podman", mounts=("/data",)), FOLDERS, "cpu")
    assert place.folder == "/shared/work"
    assert place.mounts == (
        "/shared/work:/shared/work",
        "/home/me/suite:/home/me/suite",
        "/data:/data",
    )


@pytest.mark.parametrize("name", ["/a b", "/a:b", "/a,b", "/a\nb"])
def test_a_folder_that_would_be_two_words_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="cannot be mounted in a container"):
        place_of(own("podman"), [Path(name)], "cpu")


@pytest.mark.parametrize(
    ("kind", "image", "read"),
    [
        ("apptainer", "torch.sif", "{here}/torch.sif"),
        ("charliecloud", "./torch", "{here}/torch"),
        ("enroot", "../torch.sqsh", "{here}/../torch.sqsh"),
        ("pyxis", "./torch.sqsh", "{here}/torch.sqsh"),
        ("pyxis", "/i/torch.sqsh", "/i/torch.sqsh"),
        ("apptainer", "docker://torch:2", None),
        ("enroot", "torch", None),
        ("podman", "torch:2", None),
        ("pyxis", "nvcr.io#torch:2", None),
    ],
)
def test_a_path_is_beside_its_profile(here: Path, kind: Any, image: str, read: str | None) -> None:
    path = write("r.yaml", f"kind: slurm\ncontainer: {{kind: {kind}, image: '{image}'}}\n")
    found = read_profile(path).container
    assert found is not None
    assert found.image == (read.format(here=here) if read else image)
    assert (found.path is None) == (read is None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: ssh\ncontainer: {kind: docker, image: x}", "wrong value for `container.kind` in"),
        ("kind: ssh\ncontainer: {kind: podman, image: x, mounts: [a]}", MOUNTS),
        ("kind: ssh\ncontainer: {kind: podman, image: x, mounts: ['/a:b']}", MOUNTS),
        ("kind: ssh\ncontainer: {kind: podman, image: x, mounts: ['/a:/b:ro']}", MOUNTS),
        ("kind: ssh\ncontainer: {kind: podman, image: x, mounts: ['/a,/b']}", MOUNTS),
        ("kind: ssh\ncontainer: {kind: podman}", "`container` in r.yaml:2 has no `image`"),
        ("kind: ssh\ncontainer: {kind: pyxis, image: x}", "r.yaml: `container: {kind: pyxis}` is"),
        (
            "kind: slurm\ncontainer: {kind: pyxis, image: x, options: [-w]}",
            "r.yaml: pyxis has no command: give its `options` as `srun_options`",
        ),
    ],
)
def test_a_bad_container_is_named(here: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_profile(write("r.yaml", text + "\n"))
    assert str(caught.value).startswith(message)
