import hashlib
import os
from pathlib import Path

import pytest

from milabench_ddp.config.container import Container
from milabench_ddp.dispatch.image import image_facts
from milabench_ddp.errors import DispatchError


def digest(image: Path) -> str:
    return image_facts(Container("apptainer", str(image)))["digest"]


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
    with pytest.raises(DispatchError, match=r"^no image .*none\.sif: No such file or directory: "):
        digest(tmp_path / "none.sif")


def test_podman_tells_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    own = Container("podman", "torch:2")
    assert image_facts(own) == {"kind": "podman", "image": "torch:2"}  # it is not on this host
    script = tmp_path / "podman"
    script.write_text('#!/bin/sh\n[ "$4" = torch:2 ] && echo sha256:12\n')
    script.chmod(0o755)
    assert image_facts(own)["digest"] == "sha256:12"
    with pytest.raises(
        DispatchError, match=r"^no image other: podman does not have it: `podman pu"
    ):
        image_facts(Container("podman", "other"))


def test_a_name_in_a_registry_is_not_asked_for() -> None:
    assert "digest" not in image_facts(Container("pyxis", "nvcr.io#nvidia/pytorch:25.10-py3"))
