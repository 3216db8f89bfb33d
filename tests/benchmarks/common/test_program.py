"""The end of a program's process."""

import subprocess
import sys

SCRIPT = """
import atexit
from benchmarks.common import program


class Late:
    def __del__(self):
        print("finalized")


late = Late()  # freed when Python finalizes
atexit.register(print, "atexit")


def main():
    print("measured")
    {end}


program.run(main)
"""


def ended(end: str) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(end=end)], capture_output=True, text=True
    )
    return done.returncode, done.stdout.split()


def test_python_is_not_finalized_after_success() -> None:
    assert ended("") == (0, ["measured", "atexit"])


def test_an_error_takes_the_usual_way_out() -> None:
    assert ended("raise ValueError") == (1, ["measured", "atexit", "finalized"])
    assert ended("raise SystemExit(3)") == (3, ["measured", "atexit", "finalized"])


def test_a_program_under_voir_takes_the_usual_way_out() -> None:
    assert ended("import voir") == (0, ["measured", "atexit", "finalized"])
