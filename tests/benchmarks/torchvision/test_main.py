import os
import subprocess
import sys

import pytest
from PIL import Image

from tests.support.programs import BENCHMARKS, measured, program

SMALL = [
    "--model=resnet18", "--image-size=32", "--batch-size=2",
    "--steps=3", "--warmup=2", "--device=cpu",
]  # fmt: skip
SMALLEST = "--model=shufflenet_v2_x0_5"
torchvision = program("torchvision")
torchvision_ddp = program("torchvision_ddp")


@pytest.mark.parametrize(
    ("module", "argv"),
    [
        (torchvision, ["--loader", "synthetic"]),
        # Some processors compute bf16 by software: a small model
        (torchvision, ["--loader=pytorch", "--num-workers=0", "--precision=bf16", SMALLEST]),
        (torchvision_ddp, ["--precision", "amp", "--channels-last"]),
    ],
)
def test_training_on_one_device(wire, module, argv):
    module.main([*SMALL, *argv])
    payloads = wire.close()
    assert 1 <= len(measured(payloads)) <= 3
    assert {p["units"] for p in payloads if "rate" in p} == {"images/s"}
    assert sum(p["steps"] for p in measured(payloads)) == 3
    assert all(0 < p["loss"] < 50 for p in payloads if "loss" in p)
    assert len(payloads[-1]["step_times"]["ms"]) == 3


@pytest.mark.slow
def test_training_learns_its_images_and_ddp_of_one_rank_learns_the_same(wire):
    argv = [*SMALL, "--steps", "30", "--lr", "0.002"]
    torchvision.main(argv)
    torchvision_ddp.main(argv)
    payloads = wire.close()
    first, last = ([p["loss"] for p in payloads if "loss" in p and p["step"] == k] for k in (0, 31))
    assert last[0] < first[0] / 4
    assert last[1] == pytest.approx(last[0], rel=1e-3)


@pytest.mark.slow
def test_alone_it_prints_what_it_measures():
    """As a person starts it: no supervisor, a loader with processes of its own."""
    script = BENCHMARKS / "torchvision" / "main.py"
    argv = [*SMALL, "--loader", "pytorch", "--num-workers", "1"]
    env = os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, script, *argv], capture_output=True, text=True, env=env, check=True
    )
    assert "images/s  step 0  (warm-up)" in done.stdout
    assert "images/s  step 4\n" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("main    rank 0  steps 2-4: median ")


def test_an_unknown_model(wire, capsys):
    with pytest.raises(SystemExit) as exit_:
        torchvision.main(["--model", "resnet5", "--device", "cpu"])
    assert exit_.value.code == 2
    assert "unknown model 'resnet5': did you mean resnet50," in capsys.readouterr().err
    assert wire.close()[-1]["$data"]["type"] == "UnsupportedError"


def test_a_folder_of_images_end_to_end(wire, tmp_path):
    for label in ("cat", "dog"):
        (tmp_path / label).mkdir()
        for k in range(3):
            Image.new("RGB", (40, 40), (80 * k, 0, 0)).save(tmp_path / label / f"{k}.jpg")
    argv = ["--trainer", "e2e", "--loader", "image-folder", "--data", str(tmp_path)]
    torchvision.main([*SMALL, *argv, "--num-workers", "0"])
    payloads = wire.close()
    assert sum(p["steps"] for p in measured(payloads)) == 3
    (shares,) = [p["shares"] for p in payloads if "shares" in p]
    assert shares["data"] > 0
    assert sum(shares.values()) == pytest.approx(1, abs=0.02)


def test_a_folder_that_is_missing(wire, capsys, tmp_path):
    with pytest.raises(SystemExit) as exit_:
        torchvision.main([*SMALL, "--loader", "image-folder", "--data", str(tmp_path / "none")])
    assert exit_.value.code == 2
    assert "none: no such folder" in capsys.readouterr().err
