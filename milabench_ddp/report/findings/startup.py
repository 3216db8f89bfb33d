"""Findings about the start of a benchmark's ranks."""

from ..finding import Finding, Findings
from ..model import Row
from ..process import counted
from ..ranks.rank_summary import labels
from ..ranks.startup import late_ranks, startups


def launch_skew(row: Row) -> Findings:
    """Ranks that came later than the others to their process group, in the worst launch."""
    found = [late_ranks(startups(process.record)) for process in counted(row.processes)]
    worst = max((late for late in found if late), key=lambda late: late.seconds, default=None)
    if worst is None:
        return
    who = labels(worst.ids)
    others = "the other one, which" if worst.of == 2 else "the median rank, and the others"
    sentence = f"{who} came {worst.seconds:.1f} s later to the process group than {others} waited"
    evidence = {"late_s": worst.seconds, "ranks": [id.label for id in worst.ids]}
    if worst.lost > worst.seconds / 2:
        sentence += f": {worst.lost:.1f} s of it are in {worst.part}"
        evidence |= {"part": worst.part, "part_s": worst.lost}
    yield Finding(sentence, place=who, evidence=evidence)
