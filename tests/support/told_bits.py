"""Files of devices that tell digests of their tensors, as ``benchmarks/bits`` does."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.result_files import config, end, line, rates, start, told, write

TENSORS = ["a", "b", "c"]
STEPS = 4
LIKE = {"name": "H100", "torch": "2.11", "steps": STEPS}


def digests(wrong: tuple[int, int] | None = None, value: int = 1) -> list[list[int]]:
    """Digests of each step; from the first wrong (step, tensor) on all others are, too."""
    made = []
    for step in range(STEPS):
        numbers = [10 * step + tensor for tensor in range(len(TENSORS))]
        if wrong is not None and step >= wrong[0]:
            begin = wrong[1] if step == wrong[0] else 0
            numbers[begin:] = [number + 1000 * value for number in numbers[begin:]]
        made.append(numbers)
    return made


def device(
    folder: Path,
    name: str,
    bits: Sequence[Sequence[int]],
    *,
    like: Mapping[str, Any] = LIKE,
    passes: float = 2.0,
    first: tuple[int, str] | None = None,
    repeat: Sequence[str] = (),
    tensors: Any = TENSORS,
    driver: str = "570.86",
) -> None:
    """The file of a device; ``name`` is its node and its number: ``n0/1``."""
    node, number = name.split("/")
    lines = [told(bits={"like": like, "tensors": tensors})]
    lines += [told(bits={"digests": list(each)}) for each in bits]
    more: dict[str, Any] = (
        {"first": {"pass": 1, "step": first[0], "tensor": first[1]}} if first else {}
    )
    lines.append(told(bits={"passes": passes, "unequal_steps": int(bool(first)), **more}))
    tag = ["bits", *repeat, f"D{number}", node]
    settings = config("bits", device=int(number), tag=tag)
    observed = rates([10.0, 10.1, 9.9], units="steps/s")
    meta = line("meta", {"accelerators": {"driver": driver}})
    write(folder, ".".join(tag), settings, meta, start(), *lines, observed, end(0, outcome="ok"))
