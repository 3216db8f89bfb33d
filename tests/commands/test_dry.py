import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from milabench_ddp.cli import main
from milabench_ddp.hazards import HAZARDS
from milabench_ddp.machine.backends import BACKENDS
from tests.golden import check_golden
from tests.support.workplace import EMIT, GOOD, Suite, Workplace

ON_CPU = ("--device", "cpu", "--gpus", "2")
REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without a GPU, wherever this runs."""
    for name in ("cuda", "rocm", "hpu", "xpu"):
        monkeypatch.setattr(BACKENDS[name], "may_be_present", lambda: False)


def test_the_suite_for_eight_gpus(
    no_gpu: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(REPOSITORY)
    monkeypatch.delenv("MILABENCH_BASE", raising=False)  # the folder of the caches is below it
    assert main(["dry", "config/ddp.yaml", "--gpus", "8"]) == 0
    script = capsys.readouterr().out
    script = script.replace(sys.executable, "<python>").replace(f"{REPOSITORY}/", "")
    check_golden("commands/dry_ddp_8_gpus.sh", script)


def test_a_made_up_machine_says_so(at: Workplace, suite: Suite, no_gpu: None, monkeypatch, capsys):
    monkeypatch.chdir(at.folder)
    config = suite(one=GOOD)
    main(["dry", config, "--gpus", "2"])
    assert "preset full, on 2 x cuda GPU (made up)" in capsys.readouterr().out
    main(["dry", config, "--gpus", "2", "--device", "cpu"])
    assert "made up" not in capsys.readouterr().out
    main(["dry", config, "--nodes", "2", "--gpus", "4", "--device", "rocm"])
    out = capsys.readouterr().out
    assert "2 nodes of 4 x rocm GPU (made up)" in out
    assert out.count("HIP_VISIBLE_DEVICES=3") == 2


def test_what_does_not_run_is_named(at: Workplace, suite: Suite, monkeypatch, capsys):
    monkeypatch.chdir(at.folder)
    main(["dry", suite(one=GOOD, two=GOOD), "--device", "cpu", "--exclude", "two"])
    assert re.search(r"^# not run: two: .*excluded", capsys.readouterr().out, re.MULTILINE)


@pytest.mark.parametrize(
    ("statement", "note"),
    [
        (
            "system init 9",
            "# note: this measures the CPU, not a GPU: the NVIDIA driver is installed",
        ),
        ("1 error 15", "# note: GPU 1 is left out: "),
    ],
)
def test_what_is_left_out_is_told(
    at: Workplace, suite: Suite, stub, monkeypatch, capsys, statement: str, note: str
):
    monkeypatch.chdir(at.folder)
    monkeypatch.setattr(BACKENDS["cuda"], "may_be_present", lambda: True)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    stub(statement)
    main(["dry", suite(one=GOOD)])
    assert capsys.readouterr().out.count(note) == 1


def test_dry_and_bash_do_what_run_does(at: Workplace, suite: Suite):
    config = suite(good=GOOD, bad=EMIT + "sys.exit(3)")
    script = at.milabench("dry", config, "--device", "cpu", "--gpus", "2").out
    done = subprocess.run(
        ["bash"], input=script, cwd=at.folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout.count('"task": "train"') == 40
    assert done.stderr.rstrip().endswith("failed: bad")


# As README says; each of its ranks writes
OWN = """
import json, os
with open(os.environ["MILABENCH_METRICS"], "a", buffering=1) as out:
    for step in range(20):
        rank = int(os.environ.get("RANK", 0))
        line = {"task": "train", "rate": 100.0, "units": "x/s", "rank": rank}
        out.write(json.dumps(line) + "\\n")
"""


@pytest.mark.slow
@pytest.mark.parametrize("plan", ["per_gpu", "njobs"])
def test_a_program_of_ones_own_runs_by_dry_and_by_its_command(
    at: Workplace, suite: Suite, plan: str
):
    config = suite(plan=plan, mine=OWN)
    files = {"per_gpu": ["mine.D0", "mine.D1"], "njobs": ["mine.0"]}[plan]
    script = at.milabench("dry", config, *ON_CPU).out
    env = {name: value for name, value in os.environ.items() if name != "MILABENCH_METRICS"}
    here = at.folder / "here"
    here.mkdir()
    assert at.milabench("run", config, *ON_CPU).code == 0
    (command,) = at.folder.glob("base/runs/*/mine/command.sh")
    for words, text, beside in ((["bash"], script, here), (["bash", command], "", command.parent)):
        for _ in range(2 if plan == "per_gpu" else 1):  # again, it replaces what it wrote
            done = subprocess.run(
                words, input=text, cwd=here, env=env, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
            told = [(beside / f"{name}.metrics").read_text() for name in files]
            assert "".join(told).count('"rate": 100.0') == 40
            assert all(lines in done.stdout for lines in told)


@pytest.mark.slow
def test_the_shipped_suite_really_trains_under_bash(tmp_path: Path):
    command = [sys.executable, "-m", "milabench_ddp", "dry", "config/ddp.yaml", "--preset", "small"]
    command += ["--device", "cpu", "--gpus", "2", "--select", "elastic-ddp,flops-fp32"]
    command += ["--override", "elastic-ddp.argv.--steps=200", "--override", "*.argv.--seconds=1"]
    script = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    done = subprocess.run(
        ["bash"], input=script.stdout, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "items/s" in done.stdout
    assert "TFLOP/s" in done.stdout


def test_a_cluster_is_sent_scripts(at: Workplace, suite: Suite, monkeypatch, capsys):
    monkeypatch.chdir(at.folder)
    words = ["--runner", "slurm", "--nodes", "4", "--gpus", "2", "--device", "cpu"]
    assert main(["dry", suite(one=GOOD, two=GOOD), *words, "--partition", "fast"]) == 0
    script = capsys.readouterr().out
    assert script.count("sbatch <<") == 1
    assert "#SBATCH --partition=fast" in script
    assert "#SBATCH --nodes=4" in script
    main(["dry", "suite.yaml", *words, "--allocation", "separate"])
    assert capsys.readouterr().out.count("sbatch <<") == 2
    assert main(["dry", "suite.yaml", "--partition", "fast"]) == 2
    assert "--partition is for a cluster's scheduler" in capsys.readouterr().err


@pytest.mark.parametrize("nodes", [1, 2])
def test_what_will_slow_it_down_is_told(
    at: Workplace, suite: Suite, no_gpu: None, monkeypatch, capsys, nodes: int
):
    monkeypatch.chdir(at.folder)
    for name in HAZARDS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    monkeypatch.setenv("NCCL_IB_DISABLE", "1")
    config = suite(one=GOOD, two=GOOD)
    options = [
        "--gpus",
        "2",
        "--nodes",
        str(nodes),
        "--override",
        "one.env.TORCHDYNAMO_DISABLE='1'",
    ]
    told = {}
    for device in ("cuda", "cpu"):
        main(["dry", config, *options, "--device", device])
        told[device] = re.findall(r"^# warning: (\w+)=", capsys.readouterr().out, re.MULTILINE)
    gpu = ["CUDA_LAUNCH_BLOCKING", *["NCCL_IB_DISABLE"] * (nodes > 1), "TORCHDYNAMO_DISABLE"]
    assert told == {"cuda": gpu, "cpu": ["TORCHDYNAMO_DISABLE"]}
