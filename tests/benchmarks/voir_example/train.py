"""Somebody else's training script: a loop that knows nothing of how it is measured."""

import sys
import time

import helper  # a module beside the script


def batches(count):
    """Yield batches of 4 inputs and 4 targets."""
    for step in range(count):
        time.sleep(helper.STEP)
        batch = [step] * 4, [0] * 4
        yield batch


if __name__ == "__main__":
    for inputs, _ in batches(int(sys.argv[1])):
        loss = 1 / (1 + inputs[0])
    print(f"final loss {loss:.3f}")
