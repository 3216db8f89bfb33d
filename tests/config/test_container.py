"""The command lines of containers, each as the documentation of its runtime has them."""

import hashlib
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from milabench_ddp.config.container import RUNTIMES, Container, container_words
from milabench_ddp.config.runner_profile import read_profile
from milabench_ddp.errors import ConfigError
from milabench_ddp.hidden import SECRETS
from tests.golden import check_golden
from tests.support.configuration import write

IMAGES = {"podman": "torch:2.15", "pyxis": "nvcr.io#nvidia/pytorch:25.10-py3"}
MOUNTS = "wrong value for `container.mounts[0]` in r.yaml:2: expected PATH, or PATH:PATH-INSIDE"
FOLDERS = [Path("/shared/base"), Path("/shared/base/runs"), Path("/"), Path("/home/me/suite")]


def own(kind: Any, image: str = "/shared/torch.img", **changes: Any) -> Container:
    return Container(kind, image, **changes)


SOURCES = {
    "apptainer": "apptainer.org/docs/user/main: cli/apptainer_exec.html, gpu.html",
    "charliecloud": "ch-run(1) of 0.31, charliecloud.io/latest/ch-run.html",
    "enroot": "github.com/NVIDIA/enroot: doc/cmd/start.md, doc/image-format.md, conf/hooks",
    "podman": "podman-run(1) of 4.3; Container Toolkit: CDI; rocm.docs.amd.com",
    "pyxis": "github.com/NVIDIA/pyxis/wiki/Usage, args.c",
}


def test_golden() -> None:
    lines = []
    for kind in RUNTIMES:
        lines.append(f"# {SOURCES[kind]}")
        made = own(kind, IMAGES.get(kind, "/shared/torch.img"), mounts=("/data", "/s:/tmp/s"))
        for arch in ("cuda", "rocm", "cpu"):
            srun, prefix = container_words(made, FOLDERS, arch)
            words = [*(["srun", *srun] if srun else ()), *prefix[:-4], "python3", "a.py"]
            assert SECRETS.learn(words) == words  # no option looks like a password's
            lines += [f"# {kind}, {arch}", shlex.join(words)]
    check_golden("config/containers.sh", "\n".join(lines) + "\n")


def inside(*words: str, folder: Path, image: str = "it's") -> "subprocess.CompletedProcess[str]":
    """What the last words of a prefix do once a container has begun."""
    _, prefix = container_words(own("charliecloud", image), [folder], "cpu")
    return subprocess.run([*prefix[-4:], *words], capture_output=True, text=True, check=False)


def test_a_command_begins_in_the_first_folder(tmp_path: Path) -> None:
    assert inside("pwd", folder=tmp_path).stdout == f"{tmp_path}\n"
    assert inside("sh", "-c", 'echo "$0" "$1"', "a b", "c", folder=tmp_path).stdout == "a b c\n"


def test_what_an_image_lacks_is_named(tmp_path: Path) -> None:
    done = inside("python9", "-m", "x", folder=tmp_path)
    said = "there is no python9 in it's: name another as python of the runner profile\n"
    assert (done.returncode, done.stderr) == (127, said)
    done = inside("true", folder=tmp_path / "none")
    assert done.returncode != 0
    assert str(tmp_path / "none") in done.stderr


def test_the_variables_of_a_node_reach_an_enroot_container(tmp_path: Path) -> None:
    (tmp_path / "enroot").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    (tmp_path / "enroot").chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": "/h", "A": "b c", "ENROOT_DATA_PATH": "/x"}
    _, prefix = container_words(own("enroot"), [tmp_path], "cpu")
    done = subprocess.run([*prefix, "true"], env=env, capture_output=True, text=True, check=True)
    start, *options, image = done.stdout.splitlines()[:-5]
    assert (start, image) == ("start", "/shared/torch.img")
    assert {word for word in options if word.startswith("--env=")} >= {"--env=A"}
    assert not {"--env=PATH", "--env=HOME", "--env=ENROOT_DATA_PATH"} & set(options)
    assert f"--mount={tmp_path}:{tmp_path}:none:x-create=auto,rbind" in options


def test_a_folder_inside_another_is_mounted_with_it() -> None:
    _, prefix = container_words(own("podman", mounts=("/data", "/data:/d")), FOLDERS, "cpu")
    assert [word.partition("=")[2] for word in prefix if word.startswith("--volume")] == [
        "/shared/base:/shared/base",
        "/home/me/suite:/home/me/suite",
        "/data:/data",
        "/data:/d",
    ]


@pytest.mark.parametrize("name", ["/a b", "/a:b", "/a,b", "/a\nb"])
def test_a_folder_that_would_be_two_words_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="a container cannot mount a path with a space"):
        container_words(own("podman"), [Path(name)], "cpu")


@pytest.mark.parametrize(
    ("kind", "image", "path"),
    [
        ("apptainer", "torch.sif", "{here}/torch.sif"),
        ("charliecloud", "i/torch", "{here}/i/torch"),
        ("enroot", "./torch.sqsh", "{here}/torch.sqsh"),
        ("pyxis", "/i/torch.sqsh", "/i/torch.sqsh"),
        ("apptainer", "docker://torch:2", None),
        ("enroot", "torch", None),
        ("podman", "torch:2", None),
        ("pyxis", "nvcr.io#torch:2", None),
    ],
)
def test_an_image_is_a_path_or_a_name(here: Path, kind: Any, image: str, path: str | None) -> None:
    found = own(kind, image).path
    assert found == (Path(path.format(here=here)) if path else None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: ssh\ncontainer: {kind: docker, image: x}", "wrong value for `container.kind` in"),
        ("kind: ssh\ncontainer: {kind: podman, image: x, mounts: [a]}", MOUNTS),
        ("kind: ssh\ncontainer: {kind: podman, image: x, mounts: ['/a:b']}", MOUNTS),
        ("kind: ssh\ncontainer: {kind: podman, image: x, mounts: ['/a:/b:ro']}", MOUNTS),
        ("kind: ssh\ncontainer: {kind: podman, image: x, mounts: ['/a,/b']}", MOUNTS),
        ("kind: ssh\ncontainer: {kind: podman}", "`container` in r.yaml:2 has no `image`"),
        ("kind: ssh\ncontainer: {kind: pyxis, image: x}", "r.yaml: `srun_options` and pyxis need"),
    ],
)
def test_a_bad_container_is_named(here: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_profile(write("r.yaml", text + "\n"))
    assert str(caught.value).startswith(message)


def digest(image: Path) -> str:
    return own("apptainer", str(image)).facts()["digest"]


def test_the_digest_of_a_file_is_that_of_its_content(tmp_path: Path) -> None:
    image = tmp_path / "torch.sif"
    image.write_bytes(b"image" * 1000)
    assert digest(image) == f"sha256:{hashlib.sha256(b'image' * 1000).hexdigest()}"


def test_that_of_a_folder_changes_with_each_of_its_files(tmp_path: Path) -> None:
    image = tmp_path / "torch"
    (image / "usr" / "lib").mkdir(parents=True)
    file, link = image / "usr" / "lib" / "a.so", image / "lib"
    file.write_text("a")
    link.symlink_to("usr/lib")
    os.utime(file, ns=(0, 1))
    found = [digest(image), digest(image)]
    os.utime(file, ns=(0, 2))
    found.append(digest(image))
    file.write_text("ab")
    os.utime(file, ns=(0, 2))
    found.append(digest(image))
    file.rename(file.with_name("b.so"))
    found.append(digest(image))
    link.unlink()
    found.append(digest(image))
    assert found[0] == found[1]
    assert len(set(found)) == 5


def test_a_path_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"^no image .*none\.sif: No such file or directory: "):
        digest(tmp_path / "none.sif")


def test_a_name_is_not_looked_up() -> None:
    assert own("podman", "torch:2").facts() == {"kind": "podman", "image": "torch:2"}
