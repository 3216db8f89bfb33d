"""Who reads twelve lines knows what is wrong and why, and no report has more than sixty lines."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from milabench_ddp.report.assemble import report_of
from milabench_ddp.report.faces import report_text
from tests.corpus.runs import devices, recorded, slow_rank
from tests.golden import check_golden
from tests.support.failing_runs import fifteen_ways, hang, milabenchs

FIRST, MOST = 12, 60  # lines
# What is planted, with the culprits and the cause of each: a line of the first twelve has both
PLANTED: Mapping[str, tuple[Callable[[Path], object], Mapping[str, str]]] = {
    "first": (recorded("first"), {"gpt-fsdp 66% of a step": "communication that nothing hides"}),
    "foreign": (
        milabenchs,
        {
            "diffusion-gpus, diffusion-single": "out of GPU memory (44.56 GiB), in 8",
            "dimenet, pna, recursiongfn": "no module torch_geometric, in 3",
            "vjepa-gpus": "exit status 1, and printed last: see the log of the worker",
        },
    ),
    "slow_rank": (slow_rank, {"rank 2": "slower", "gpt-ddp": "rank 2 (node1)"}),
    "lost_gpu": (devices, {"GPU 3": "has fallen off the bus"}),
    "hang": (hang, {"rank 1": "hangs in `batch = next(loader)` (train.py:41"}),
    "fifteen": (
        fifteen_ways,
        {
            "absent": "no such program: nsys",
            "check": "the loss is 3",
            "crash": "SIGSEGV",
            "cuda": "Found no NVIDIA driv",
            "denied": "not executable: x.sh",
            "file": "no such file: /data/imagenet",
            "killed": "SIGKILL",
            "memory": "out of GPU memory (79.11 GiB)",
            "module": "no module torch_geometric",
            "nan": "the loss became NaN",
            "option": "prog.py: unrecognized arguments",
            "rendezvous": "no connection to node7",
            "silent": "no rate",
            "slow": "hangs in `time.sleep(60)`",
            "status": "exit status 3",
        },
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_who_and_why_stand_first(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plant, culprits = PLANTED[name]
    plant(Path("run"))
    text = report_text(report_of([Path("run")]))
    lines = text.splitlines()
    head = [*lines[:FIRST], " ".join(line.strip() for line in lines[:FIRST])]
    for who, why in culprits.items():
        assert any(who in line and why in line for line in head), (who, why)
    assert len(lines) <= MOST
    check_golden(f"report/brief_{name}.txt", text)
