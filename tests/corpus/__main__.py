"""Writes the corpus anew: every face of every run in ``tests/golden/corpus/``.

    python -m tests.corpus

Read the difference before it is committed: it is what users see.
"""

import shutil
import tempfile
from contextlib import chdir
from pathlib import Path

from tests.corpus.faces import FACES, faces_of
from tests.corpus.runs import make_all

GOLDEN = Path(__file__).parents[1] / "golden/corpus"


def main() -> None:
    """Write all faces."""
    shutil.rmtree(GOLDEN, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        make_all(Path())
        for name in FACES:
            (GOLDEN / name).mkdir(parents=True)
            for face, text in faces_of(name):
                (GOLDEN / name / face).write_bytes(text.encode(errors="surrogateescape"))


if __name__ == "__main__":
    main()
