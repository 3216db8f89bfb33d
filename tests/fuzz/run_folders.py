"""Run folders with broken files: the attacks of ``tests/fuzz/broken_runs.py``."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from hypothesis import strategies as st

from tests.fuzz.broken_runs import Attacker

seeds = st.integers(0, 2**32)


@cache
def _attacker() -> Attacker:
    base = Path(tempfile.mkdtemp(prefix="fuzz-runs-"))
    atexit.register(shutil.rmtree, base, ignore_errors=True)
    return Attacker(base)


def check(seed: int, folder: Path) -> None:
    """No face of a broken run fails, and none hides what is broken."""
    attacker = _attacker()
    attacker.faults.clear()
    attacker.attack(seed, count=2)
    assert not attacker.faults, attacker.faults[0]
