"""What users see of runs stays as it is, byte for byte, unless a commit changes it on purpose.

``python -m tests.corpus`` writes the corpus anew.
"""

from collections.abc import Iterator
from contextlib import chdir

import pytest

from tests.corpus.__main__ import GOLDEN
from tests.corpus.faces import FACES, faces_of
from tests.corpus.runs import make_all


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The runs of the corpus, in the current folder."""
    folder = tmp_path_factory.mktemp("corpus")
    with chdir(folder):
        make_all(folder)
        yield


@pytest.mark.parametrize("name", FACES)
@pytest.mark.usefixtures("runs")
def test_every_face_is_as_recorded(name: str) -> None:
    made = {face: text.encode(errors="surrogateescape") for face, text in faces_of(name)}
    known = {path.name: path.read_bytes() for path in (GOLDEN / name).iterdir()}
    assert made.keys() == known.keys()
    for face, text in made.items():
        assert text.decode().splitlines() == known[face].decode().splitlines(), face
        assert text == known[face], face


def test_every_recorded_face_is_made() -> None:
    assert {path.name for path in GOLDEN.iterdir()} == FACES.keys()
