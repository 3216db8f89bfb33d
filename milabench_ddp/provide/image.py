"""One image: seeded, and as hard to decode as a photograph."""

import io
from collections.abc import Sequence

DRAWING = 1  # raised when the same seed gives other pixels
PATCH = 16  # pixels between the random colours that are blended into each other
GRAIN = 32  # noise of up to so many of 256 levels; with it a file has ImageNet's bytes per pixel
QUALITY = 90


def jpeg(size: int, seed: Sequence[int]) -> bytes:
    """A JPEG file of ``size`` x ``size`` pixels: soft colours under grain, drawn from ``seed``.

    Pure noise would compress worse than any photograph, and a plain colour would cost a decoder
    nothing. This gives about 0.55 bytes per pixel; ImageNet's files have about 0.6.
    """
    import numpy as np
    from PIL import Image

    chance = np.random.default_rng(list(seed))
    patches = max(2, size // PATCH)
    colours = chance.integers(0, 256, (patches, patches, 3), dtype=np.uint8)
    soft = Image.fromarray(colours).resize((size, size), Image.Resampling.BICUBIC)
    grain = chance.integers(-GRAIN, GRAIN + 1, (size, size, 3), dtype=np.int16)
    pixels = (np.asarray(soft).astype(np.int16) + grain).clip(0, 255).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=QUALITY)
    return file.getvalue()
