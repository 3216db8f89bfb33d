"""Runs nothing but the check of the gradients, for every benchmark that has one and for many seeds.

    python -m tests.studies.gates [--seeds 5] [--ranks 4] [--preset small] [--select 'gpt-*'] \\
        [config/everything.yaml config/strategies.yaml]

On CPU slots. Several benchmarks share one process group, so that imports and rendezvous are paid
once. All of both suites with 5 seeds took 30 minutes on two cores that were also busy otherwise.
Prints each verdict as it comes; exits with 1 if a check did not pass. A benchmark that is skipped
on so many slots is named.

Where ``--precision``, and other options, are added after ``--``, each benchmark gets them as well:

    python -m tests.studies.gates --select 'gpt-*' -- --precision bf16
"""

import argparse
import gc
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TOGETHER = 6  # benchmarks in one process group: their meshes leave threads that never rest
SUITES = ("config/everything.yaml", "config/strategies.yaml")

Case = tuple[str, str, list[str]]  # name, folder of the program, command line


class Checked(SystemExit):
    """Ends a program after its check; to the program an intended exit."""


def cases(args: argparse.Namespace) -> dict[bool, list[Case]]:
    """The benchmarks that check gradients: those of one device (False), those of all ranks."""
    from milabench_ddp.config.conditions import MachineFacts
    from milabench_ddp.config.load import SuiteRequest, load

    facts = MachineFacts("cpu", 1, args.ranks, args.ranks, "cpu", 0, Path("/nowhere"))
    found: dict[bool, list[Case]] = {False: [], True: []}
    for path in args.suites:
        suite = load(SuiteRequest(str(ROOT / path), preset=args.preset), facts)
        for skip in suite.skipped:
            print(f"skipped: {skip.name}: {skip.reason}")
        for benchmark in suite.benchmarks:
            if "--check-correctness" not in benchmark.argv or not fnmatch(
                benchmark.name, args.select
            ):
                continue
            together = "multigpu" in benchmark.tags
            folder = Path(benchmark.program).parent.name
            found[together].append((benchmark.name, folder, [*benchmark.argv, *args.more]))
    return found


def check_all(path: Path, seeds: int) -> bool:
    """Check the cases of a file, in this process; rank 0 prints. Whether all passed."""
    import torch.distributed as dist

    from benchmarks.common import correctness, strategies, training

    def check(run: Any, args: argparse.Namespace, workload: Any, source: Any) -> None:
        raise Checked(correctness.check(args, workload, run.group, strategies.build, source.batch))

    training.check_correctness = check
    gc.freeze()  # a check collects garbage twice, which would look at all of torch
    passed, mains = True, {}
    for name, folder, argv in json.loads(path.read_text()):
        if folder not in mains:
            mains[folder] = _program(folder).main
        for seed in range(seeds):
            begun = time.perf_counter()
            try:
                mains[folder]([*argv, "--device", "cpu", "--seed", str(seed)])
            except Checked as end:
                if end.code is not None:
                    passed = passed and end.code.ok
                    seconds = time.perf_counter() - begun
                    print(_line(name, seed, seconds, end.code), flush=True)
            if dist.is_initialized():
                dist.init_process_group = _joined
    return passed


def _joined(*_: object, **_settings: object) -> None:
    """In place of ``init_process_group`` once this process is in its group."""


def _program(folder: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(folder, ROOT / "benchmarks" / folder / "main.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _line(name: str, seed: int, seconds: float, verdict: Any) -> str:
    word = "ok   " if verdict.ok else "WRONG"
    return f"{word} {name:32} seed {seed}  {seconds:5.1f} s  {verdict.differences()}"


def main(argv: Sequence[str] | None = None) -> int:
    """Start the processes, or be one of them; 1 if a check did not pass."""
    given = list(sys.argv[1:] if argv is None else argv)
    more: list[str] = []
    if "--" in given:
        at = given.index("--")
        given, more = given[:at], given[at + 1 :]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("suites", nargs="*", default=SUITES)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--preset", default="small")
    parser.add_argument("--select", default="*")
    parser.add_argument("--cases", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args(given)
    if args.cases is not None:
        return 0 if check_all(args.cases, args.seeds) else 1
    args.more = more
    failed = False
    for together, found in cases(args).items():
        ranks = args.ranks if together else 0
        for first in range(0, len(found), TOGETHER):
            failed |= not passed(found[first : first + TOGETHER], ranks, args.seeds)
    return int(failed)


def passed(found: list[Case], ranks: int, seeds: int) -> bool:
    """Check the cases in new processes: one, or as many as there are ranks."""
    launcher = ["-m", "torch.distributed.run", f"--nproc-per-node={ranks}"]
    launcher += ["--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0"]
    quiet = {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cases.json"
        path.write_text(json.dumps(found))
        command = [sys.executable, *(launcher if ranks else []), "-m", "tests.studies.gates"]
        command += ["--cases", str(path), "--seeds", str(seeds)]
        done = subprocess.run(command, env=os.environ | quiet, check=False, cwd=ROOT)
        return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
