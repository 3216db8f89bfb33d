"""Runs of a program on each device, some of which fail."""

from pathlib import Path

from tests.support.result_files import config, end, rates, start, write

OK, FAILED = end(0, outcome="ok"), end(1, outcome="failed", reason="exit status 1")


def devices(folder: Path, ends: str, *, measured: str = "", name: str = "b") -> Path:
    """A process for each letter of ``ends``, ``.`` or ``F``, at 10 items/s.

    Args:
        folder: the run.
        ends: ``.`` for a process that ended ok, ``F`` for one that failed.
        measured: the same, for whether it measured something; by default, all did.
        name: of the benchmark.
    """
    for device, how in enumerate(ends):
        settings = config(name, device=device, devices=[device], tag=[name, f"D{device}"])
        values = rates([10.0] * 5) if not measured or measured[device] == "." else ""
        write(folder, f"{name}.D{device}", settings, start(), values, OK if how == "." else FAILED)
    return folder
