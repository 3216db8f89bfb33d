"""Makes a FakeImageNet: ``train/`` and ``val/``, a folder of JPEG files for each class.

It has the folders of ImageNet, so that torchvision's ``ImageFolder`` reads it. The pixels of an
image depend only on the seed, its set and its number. Each file is written atomically, so the next
call continues a call that was interrupted.
"""

import io
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path

from msgspec import Struct

from ..codec import decode, write_record
from ..config.schema import FakeImageNet
from ..config.tree import shown
from ..errors import ConfigError
from ..files import read_bytes
from . import making

BATCH = 256  # images between two checks for Ctrl-C
DRAWING = 1  # the version of `jpeg`: raised when the same seed gives other pixels
PATCH = 16  # pixels between two random colours; those between them are blended
GRAIN = 32  # the most noise, of 256 levels; it gives the files ImageNet's bytes per pixel
QUALITY = 90


class Contents(Struct, frozen=True):
    """The settings that decide every pixel of a data set."""

    images: int
    val_images: int
    classes: int
    size: int
    seed: int
    drawing: int = DRAWING
    kind: str = "fake_imagenet"


class Manifest(Struct, frozen=True):
    """The file ``manifest.json`` of a data set."""

    holds: Contents
    complete: bool
    schema: int = 1


def is_complete(folder: Path, wanted: FakeImageNet) -> bool:
    """Whether the folder holds all images that are wanted; False if some must still be made.

    Raises:
        ConfigError: the folder holds other files, which are left alone.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return False
    try:
        manifest = decode(read_bytes(folder / "manifest.json"), Manifest)
    except (OSError, ValueError):
        raise ConfigError(
            f"{shown(folder)} exists, and `milabench prepare` did not make it: "
            "name another folder with `prepare.fake_imagenet.folder`, or move it away"
        ) from None
    if manifest.holds != _contents(wanted):
        raise ConfigError(
            f"{shown(folder)} was made with other settings (see its manifest.json): "
            "name another folder with `prepare.fake_imagenet.folder`, or remove this one"
        )
    return manifest.complete


def make(folder: Path, wanted: FakeImageNet, advance: Callable[[int], None]) -> None:
    """Make the missing images, with one thread for each core of this process."""
    if is_complete(folder, wanted):
        return
    kept = "; the images made so far are kept: run the same command again to continue"
    with making(folder, folder / ".lock", kept):
        write_manifest(folder, wanted, complete=False)
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            images = _images(folder, wanted)
            while batch := list(islice(images, BATCH)):
                for _ in pool.map(partial(_write, wanted.size), batch):
                    advance(1)
        write_manifest(folder, wanted, complete=True)


def write_manifest(folder: Path, wanted: FakeImageNet, *, complete: bool) -> None:
    write_record(folder / "manifest.json", Manifest(_contents(wanted), complete))


def path_of(folder: Path, wanted: FakeImageNet, part: str, index: int) -> Path:
    label = index % wanted.classes
    return folder / part / f"class_{label:05d}" / f"{index:08d}.jpeg"


def jpeg(size: int, seed: Sequence[int]) -> bytes:
    """A JPEG file of ``size`` x ``size`` pixels: soft colours under grain, drawn from ``seed``.

    Pure noise would compress worse than any photograph, and a plain colour would cost a decoder
    nothing. This gives about 0.55 bytes per pixel; ImageNet's files have about 0.6.
    """
    from PIL import Image

    from ..numerics import np

    generator = np.random.default_rng(list(seed))
    patches = max(2, size // PATCH)
    colours = generator.integers(0, 256, (patches, patches, 3), dtype=np.uint8)
    soft = Image.fromarray(colours).resize((size, size), Image.Resampling.BICUBIC)
    grain = generator.integers(-GRAIN, GRAIN + 1, (size, size, 3), dtype=np.int16)
    pixels = (np.asarray(soft).astype(np.int16) + grain).clip(0, 255).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=QUALITY)
    return file.getvalue()


def _contents(wanted: FakeImageNet) -> Contents:
    return Contents(wanted.images, wanted.val_images, wanted.classes, wanted.size, wanted.seed)


def _images(folder: Path, wanted: FakeImageNet) -> Iterator[tuple[Path, tuple[int, ...]]]:
    sets = {"train": wanted.images, "val": wanted.val_images}
    for number, (part, count) in enumerate(sets.items()):
        for label in range(wanted.classes):
            path_of(folder, wanted, part, label).parent.mkdir(parents=True, exist_ok=True)
        for index in range(count):
            yield path_of(folder, wanted, part, index), (wanted.seed, number, index)


def _write(size: int, image: tuple[Path, tuple[int, ...]]) -> None:
    path, seed = image
    if not path.exists():
        temporary = path.with_suffix(".part")
        temporary.write_bytes(jpeg(size, seed))
        temporary.replace(path)
