from pathlib import Path

import pytest
import torch

from benchmarks.common.failure import UnsupportedError
from benchmarks.transformers import models, stages
from tests.support.programs import measured, program, torchrun

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


@pytest.mark.parametrize(
    ("name", "millions"),  # as published, of BERT and T5 by torchbench's classes
    [
        ("hf_Bert", 109.5), ("hf_Bert_large", 335.2), ("hf_GPT2", 124.4), ("hf_GPT2_large", 774.0),
        ("hf_T5", 60.5), ("hf_T5_large", 737.7), ("hf_ViT_large", 1012.0),
    ],
)  # fmt: skip
def test_the_models_have_their_published_sizes(name, millions):
    args = args_of("--model", name, "--mode", "single")
    work = transformers.make_workload(args, transformers.make_shape(args))
    assert models.parameters(work) / 1e6 == pytest.approx(millions, rel=2e-3)


def test_an_unknown_model(wire, capsys):
    with pytest.raises(SystemExit) as exit_:
        transformers.main(["--model", "hf_bert_larg", "--mode", "single", "--device", "cpu"])
    assert exit_.value.code == 2
    assert "unknown model 'hf_bert_larg': did you mean hf_Bert_large" in capsys.readouterr().err
    assert wire.close()[0]["$data"]["type"] == "UnsupportedError"


@pytest.mark.parametrize(
    ("argv", "ranks", "why"),
    [
        ("--model hf_T5 --mode tp", 2, "hf_T5 has no mode tp: its attention adds a position bias"),
        ("--model hf_GPT2 --mode tp-fsdp", 4, "hf_GPT2 has no mode tp-fsdp: its attention proj"),
        ("--model hf_Bert --mode tp", 8, "hf_Bert has 12 heads, which 8 ranks cannot share"),
        ("--model hf_Bert --mode tp --sequence-parallel", 2, "--sequence-parallel is for gpt"),
        ("--model hf_ViT_large --tokens 8", 2, "--tokens is for texts: ViT reads images"),
    ],
)
def test_what_does_not_fit_is_refused(argv, ranks, why):
    args = args_of(*argv.split())
    with pytest.raises(UnsupportedError, match=f"^{why}"):
        transformers.check_mode(args, transformers.make_shape(args), ranks)


@pytest.mark.parametrize("name", ["hf_Bert", "hf_GPT2", "hf_ViT_large"])
def test_stages_one_after_the_other_are_the_model(name):
    size = models.SHAPES[name].sized(tiny=True)
    torch.manual_seed(0)
    model = models.make(size, tied=False).eval()
    inputs, targets = (tensor[None] for tensor in models.samples(size, 2, seed=0)[1])
    expected = models.loss(model, (inputs, targets))
    made = stages.stages(model, 3)
    x = inputs
    for stage in made:
        x = stage.eval()(x)
    assert torch.allclose(models.score_loss(x, (inputs, targets)), expected)
    names = [name for stage in made for name, _ in stage.named_parameters()]
    assert sorted(names) == sorted(name for name, _ in model.named_parameters())
    sizes = [sum(p.numel() for p in stage.parameters()) for stage in made]
    assert max(sizes) < 0.6 * sum(sizes)


def test_more_stages_than_parts():
    model = models.make(models.SHAPES["hf_GPT2"].sized(tiny=True), tied=False)
    with pytest.raises(
        UnsupportedError, match="a model of 4 blocks and two ends cannot have 7 stages"
    ):
        stages.stages(model, 7)


@pytest.mark.parametrize("name", ["hf_Bert", "hf_ViT_large"])
def test_tensor_parallelism_shards_every_matrix_of_the_blocks(name):
    model = models.make(models.SHAPES[name].sized(tiny=True))
    plan = stages.tp_plan(model)
    assert len(plan) == 4 * 6  # query, key, value, output, up, down
    assert {"ColwiseParallel", "RowwiseParallel"} == {type(s).__name__ for s in plan.values()}


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_two_ranks_train_as_one_device_does(wire):
    done = torchrun(Path(__file__).parent / "on_two_ranks.py")
    assert done.returncode == 0, done.stderr
    verdicts = [p["correctness"] for p in wire.close() if "correctness" in p]
    assert len(verdicts) == 5
    assert all(verdict["ok"] and verdict["gradient_error"] < 1e-5 for verdict in verdicts)
