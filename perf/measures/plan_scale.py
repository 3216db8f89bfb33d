"""How ``resolve`` and ``dry`` grow with the number of benchmarks, and ``dry`` with that of GPUs."""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from ..cost import Cost, watched
from ..figure import Figure, with_growth
from ..paired import MILABENCH, REPOSITORY, in_turn
from ..room import Room
from ..suites import PROGRAMS, python

GPUS = 8  # of a node
BARE = "Python parses the YAML and prints as many lines"


def benchmarks(room: Room) -> Iterator[Figure]:
    """``resolve`` and ``dry`` of so many benchmarks."""
    sizes = room.pick([1], [1, 10, 100, 1000], [1, 10, 100, 1000])
    for verb in room.pick(("dry",), ("resolve", "dry"), ("resolve", "dry")):
        figures = []
        for size in sizes:
            config = room.folder / f"{size}.yaml"
            config.write_text(_suite(size))
            words = [verb, str(config), "--device", "cpu", "--gpus", "8"]
            rounds = room.pick(1, 3, 9)
            figures += _figures(room, f"{verb} of {size} benchmarks", config, words, rounds)[:1]
        yield from with_growth(figures, sizes)


def gpus(room: Room) -> Iterator[Figure]:
    """``dry`` of the suite for so many GPUs: time and memory."""
    sizes = room.pick([8], [8, 512, 8192], [8, 512, 8192, 65536])
    config = REPOSITORY / "config" / "ddp.yaml"
    times, memories = [], []
    for size in sizes:
        rounds = room.pick(1, 3, 5) if size < 65536 else 1
        shape = ["--gpus", str(GPUS), "--nodes", str(size // GPUS)]
        words = ["dry", "ddp", "--device", "cuda", *shape]
        time, memory = _figures(room, f"dry of the suite for {size:,} GPUs", config, words, rounds)
        times.append(time)
        memories.append(memory)
    yield from with_growth(times, sizes)
    yield from with_growth(memories, sizes)


def _figures(
    room: Room, name: str, config: Path, words: Sequence[str], rounds: int
) -> list[Figure]:
    """The wall time of a command and its memory, beside those of the bare one."""
    output = room.folder / "output"
    costs: dict[str, list[Cost]] = {"ours": [], "bare": []}

    def cost(side: str, command: Sequence[str], to: Path | None) -> float:
        costs[side].append(watched(command, to))
        return costs[side][-1].wall

    ours = partial(cost, "ours", [*MILABENCH, *words], output)
    bare = partial(cost, "bare", python("bare_configuration.py", config, output), None)
    found = in_turn(rounds, {"ours": ours, "bare": bare})
    seconds = {side: tuple(took * 1e3 for took in each) for side, each in found.items()}
    mib = {side: tuple(each.mib for each in costs[side][-rounds:]) for side in costs}
    return [
        Figure(name, "ms", seconds["ours"], seconds["bare"], BARE),
        Figure(f"{name}: memory", "MiB", mib["ours"], mib["bare"], BARE, relation="difference"),
    ]


def _suite(size: int) -> str:
    """A suite of so many benchmarks, which inherit and have placeholders as real ones do."""
    entries: list[str] = [
        "_base:",
        f"  program: {PROGRAMS / 'sleeper.py'}",
        "  plan: {method: per_gpu}",
        "  max_duration: 60",
        "  argv: {--seconds: 1, --batch-size: 16}",
    ]
    for number in range(size):
        argv = {"--batch-size": number + 1, "--threads": "{n_worker}"}
        entries += [
            f"b{number:04}:",
            "  inherits: _base",
            f"  argv: {json.dumps(argv)}",
            f"  tags: [part-{number % 10}]",
        ]
    return "\n".join(entries) + "\n"
