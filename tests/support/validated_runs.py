"""Result files of validations: devices and nodes of known speeds."""

from collections.abc import Mapping
from pathlib import Path

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.validation.peers import BesidePeers, judged
from tests.support.result_files import config, end, line, rates, start, write, write_state

COUNT = 60
TAGS = ["quick", "validate"]
Speeds = Mapping[tuple[str, int], float]


def series(speed: float, place: int) -> str:
    """Observations that vary by a few thousandths."""
    return rates([speed * (1 + 0.001 * ((k + place) % 5 - 2)) for k in range(COUNT)], steps=1)


def meta(node: str, product: str = "H100") -> str:
    gpus = {str(k): {"product": product, "uuid": f"GPU-{node}-{k}"} for k in range(8)}
    return line("meta", {"node": node, "accelerators": {"arch": "cuda", "gpus": gpus}})


def alone(folder: Path, speeds: Speeds, name: str = "flops", product: str = "H100") -> None:
    """A process on each device of each node."""
    for (node, device), speed in speeds.items():
        tag = [name, f"D{device}", *([node] if node else [])]
        settings = config(name, device=device, tag=tag, tags=TAGS)
        lines = settings, meta(node, product), start(), series(speed, device), end()
        write(folder, ".".join(tag), *lines)


def healthy(nodes: int = 4, devices: int = 8) -> dict[tuple[str, int], float]:
    """Devices that differ by 2 %."""
    places = [(f"n{node}", device) for node in range(nodes) for device in range(devices)]
    return {place: 100 + 2 * ((7 * k) % 11) / 10 for k, place in enumerate(places)}


def found(folder: Path, name: str = "flops") -> list[BesidePeers]:
    (row,) = (row for row in report_of([folder]).rows if row.name == name)
    return list(judged(row))


def failing(folder: Path, name: str = "flops") -> list[tuple[str, str]]:
    return [(each.node, each.place) for each in found(folder, name) if each.word == "fail"]


def planned(folder: Path, name: str, created: float, speeds: Speeds, dtype: str = "bf16") -> Path:
    """A validation that its state tells of, too."""
    run = folder / name
    alone(run, speeds)
    suite = {"flops": {"tags": TAGS, "argv": {"--dtype": dtype}}}
    write_state(run, "ok", {"flops": "ok"}, created=created, suite=suite)
    return run
