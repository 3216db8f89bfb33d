from pathlib import Path

import pytest

from benchmarks.common.failure import UnsupportedError
from tests.support.programs import measured, on_ranks, program

transformers = program("transformers")
TINY = ["--scale=tiny", "--layers=2", "--steps=3", "--warmup=1", "--device=cpu", "--mode=single"]
FAMILIES = ("hf_Bert", "hf_GPT2", "hf_T5", "hf_ViT_large")


def args_of(*argv):
    return transformers.options().parse_args(argv)


@pytest.mark.parametrize("name", FAMILIES)
def test_training_on_one_device(wire, name):
    transformers.main([*TINY, "--model", name])
    payloads = wire.close()
    units = "images/s" if name == "hf_ViT_large" else "tokens/s"
    assert {p["units"] for p in payloads if "rate" in p} == {units}
    assert sum(p["steps"] for p in measured(payloads)) == 3
    # Random weights guess: about as good as chance.
    first = next(p["loss"] for p in payloads if "loss" in p)
    assert 4 < first < 9
    model = next(p["model"] for p in payloads if "model" in p)
    assert model["parameters"] == model["parameters_held"]


def test_an_unknown_model(wire, capsys):
    with pytest.raises(SystemExit) as exit_:
        transformers.main(["--model", "hf_bert_larg", "--mode", "single", "--device", "cpu"])
    assert exit_.value.code == 2
    assert "unknown model 'hf_bert_larg': did you mean hf_Bert_large" in capsys.readouterr().err
    assert wire.close()[-1]["$data"]["type"] == "UnsupportedError"


@pytest.mark.parametrize(
    ("argv", "ranks", "why"),
    [
        ("--model hf_T5 --mode tp", 2, "hf_T5 cannot use mode tp: its attention adds a position"),
        ("--model hf_GPT2 --mode tp-fsdp", 4, "hf_GPT2 cannot use mode tp-fsdp: its attention"),
        ("--model hf_Bert --mode tp", 8, "hf_Bert has 12 heads, which 8 ranks cannot share"),
        ("--model hf_Bert --mode tp --sequence-parallel", 2, "--sequence-parallel is for gpt"),
        ("--model hf_ViT_large --tokens 8", 2, "--tokens is for models of text: ViT reads images"),
    ],
)
def test_what_does_not_fit_is_refused(argv, ranks, why):
    args = args_of(*argv.split())
    with pytest.raises(UnsupportedError, match=f"^{why}"):
        transformers.check_mode(args, transformers.make_size(args), ranks)


@pytest.mark.slow
def test_two_ranks_train_as_one_device_does(wire):
    done = on_ranks(Path(__file__).parent / "on_two_ranks.py")
    assert done.returncode == 0, done.stderr
    verdicts = [p["correctness"] for p in wire.close() if "correctness" in p]
    assert len(verdicts) == 4
    assert all(verdict["ok"] and verdict["gradient_error"] < 1e-5 for verdict in verdicts)
