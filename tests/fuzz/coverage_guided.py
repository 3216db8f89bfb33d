"""Lets atheris look for inputs that reach new lines of the package; it is not installed by itself.

    pip install atheris
    python -m tests.fuzz.coverage_guided condition -max_total_time=600

The target is one of ``targets.py``, and its law is the same: atheris makes the bytes of which
hypothesis makes an input. The other words are options of libFuzzer, such as a folder for what it
finds. It stops at the first finding, and prints it. Only pure functions are fast enough to gain
from this: condition, placeholder, filled tree, agent message, configuration.
"""

import sys

import atheris
import hypothesis

with atheris.instrument_imports(include=["milabench_ddp"]):
    from tests.fuzz.engine import check_one
    from tests.fuzz.targets import TARGETS


def main() -> None:
    """Run libFuzzer until its options end it."""
    name, *options = sys.argv[1:]
    target = TARGETS[name]

    @hypothesis.settings(database=None, deadline=None)
    @hypothesis.given(target.inputs)
    def law(value: object) -> None:
        try:
            check_one(target, value)
        except Exception:  # atheris stops at any, and shows the bytes but not the input
            print(f"with {value!r}"[:3000], file=sys.stderr)
            raise

    atheris.Setup([sys.argv[0], *options], law.hypothesis.fuzz_one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
