"""Result files of the program ``pairs``, from a map of speeds that is known."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .result_files import end, job, line, rates, start, told, write

NOISE = 0.01


def link_map(nodes: int, seed: int = 0, noise: float = NOISE) -> np.ndarray:
    """GB/s between nodes that are alike, shape (nodes, nodes)."""
    rng = np.random.default_rng(seed)
    return 40 * np.exp(rng.normal(0, noise, (nodes, nodes)))


def pair_rows(speeds: np.ndarray, part: int = 0, parts: int = 1, **more: Any) -> str:
    """A row for each link of a map, of the ranks of one place on each node."""
    text = ""
    for first in range(len(speeds)):
        for second in range(len(speeds)):
            gb_s = float(speeds[first, second])
            if first == second or np.isnan(gb_s):
                continue
            pair = {"from": first * parts + part, "to": second * parts + part, "ways": 1}
            pair |= {"nodes": [f"n{first}", f"n{second}"], "part": part}
            text += told(pair={**pair, "gb_s": gb_s, "best_gb_s": gb_s, **more})
    return text


def write_pairs(folder: Path, maps: Sequence[np.ndarray], *more: str, **settings: Any) -> None:
    """The files of ``pairs --among across``, with a map for each place on a node."""
    nodes, parts = len(maps[0]), len(maps)
    rows = [pair_rows(speeds, part, parts, schedule="rounds") for part, speeds in enumerate(maps)]
    values = rates([1.0] * 9, units="GB/s", rank=0)
    config = job("pairs", parts, nodes, **settings)
    for node in range(nodes):
        told_by_first = [*rows, *more, values] if node == 0 else []
        about = line("meta", {"node": f"n{node}"})
        write(folder, f"pairs.0.n{node}", config, about, start(), *told_by_first, end())
