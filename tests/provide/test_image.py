import io

import numpy as np
from PIL import Image

from milabench_ddp.provide.image import jpeg


def pixels(file: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(file)))


def test_a_seed_says_what_the_image_shows():
    assert jpeg(40, (1, 0, 2)) == jpeg(40, (1, 0, 2))
    others = {jpeg(40, seed) for seed in ((1, 0, 2), (2, 0, 2), (1, 1, 2), (1, 0, 3))}
    assert len(others) == 4


def test_it_is_a_colour_image_of_that_size():
    seen = pixels(jpeg(40, (0, 0, 0)))
    assert seen.shape == (40, 40, 3)
    assert seen.std() > 30  # neither grey nor plain


def test_it_takes_as_much_room_as_a_photograph():
    sizes = [len(jpeg(256, (0, 0, k))) / 256**2 for k in range(5)]
    assert 0.4 < sum(sizes) / 5 < 0.8  # ImageNet: 0.6 bytes for each pixel
