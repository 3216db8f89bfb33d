"""Makes a FakeImageNet: ``train/`` and ``val/``, a folder of JPEG files for each class.

It is laid out as ImageNet is, so that torchvision's ``ImageFolder`` reads it. What an image shows
depends on the seed, its set and its number only. A file appears whole or not at all, so a call that
was interrupted is continued by the next.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from ..config.schema import FakeImageNet
from ..config.tree import shown
from . import manifest
from .failure import ProvideFailure
from .image import jpeg

SETS = ("train", "val")
BATCH = 256  # images between two looks at a Ctrl-C


def make(folder: Path, wanted: FakeImageNet, advance: Callable[[int], None]) -> None:
    """Make what is not there yet, with as many threads as this process has cores.

    Args:
        folder: the data set's own.
        wanted: what it is to hold.
        advance: told how many images more are there.

    Raises:
        ConfigError: the folder holds something else.
        ProvideFailure: it cannot be written, or another process is writing it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if manifest.complete(folder, wanted):
            return
        manifest.write(folder, wanted, complete=False)
        with _alone(folder), ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            images = _images(folder, wanted)
            while batch := list(islice(images, BATCH)):
                for _ in pool.map(lambda image: _write(image[0], image[1], wanted.size), batch):
                    advance(1)
        manifest.write(folder, wanted, complete=True)
    except OSError as error:
        raise ProvideFailure(
            f"cannot write {shown(folder)}: {error.strerror or error}; "
            "what was made is kept, and the same command continues"
        ) from error


def path_of(folder: Path, wanted: FakeImageNet, part: str, index: int) -> Path:
    """The file of an image; the classes take turns."""
    label = index % wanted.classes
    return folder / part / f"class_{label:05d}" / f"{index:08d}.jpeg"


def _images(folder: Path, wanted: FakeImageNet) -> Iterator[tuple[Path, tuple[int, ...]]]:
    for number, (part, count) in enumerate(
        zip(SETS, (wanted.images, wanted.val_images), strict=True)
    ):
        for label in range(wanted.classes):
            path_of(folder, wanted, part, label).parent.mkdir(parents=True, exist_ok=True)
        for index in range(count):
            yield path_of(folder, wanted, part, index), (wanted.seed, number, index)


def _write(path: Path, seed: tuple[int, ...], size: int) -> None:
    if path.exists():
        return
    temporary = path.with_suffix(".part")
    temporary.write_bytes(jpeg(size, seed))
    temporary.replace(path)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ProvideFailure(
                f"another process is making {shown(folder)}: wait until it is done"
            ) from None
        yield
