"""What somebody asks of a program that it cannot do: one sentence, exit 2, nothing measured."""

import pytest
import torch
import torch.distributed as dist
from torch.testing._internal.distributed.fake_pg import FakeStore

from benchmarks.common.group import Group
from tests.support.programs import program

GPT = "--model GPTTiny --block-size 16 --batch-size 8"
BERT = "--model hf_Bert --scale tiny"
IMAGES = "--model resnet18 --image-size 32 --batch-size 2"
FOLDER = f"{IMAGES} --loader image-folder --num-workers 0"


@pytest.fixture
def refused(wire, capsys, monkeypatch):
    """The sentence with which a program on so many ranks ends; the other ranks are not there."""

    def of(name, argv, ranks=1, kind="UnsupportedError"):
        def join(*_):
            dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=ranks)
            return Group(torch.device("cpu"), 0, ranks)

        monkeypatch.setattr(Group, "join", join)
        with pytest.raises(SystemExit) as end:
            program(name).main([*argv.split(), "--device", "cpu"])
        assert end.value.code == 2
        told = wire.close()[-1]
        assert told["$event"] == "error"
        assert told["$data"]["type"] == kind
        # Where torchao is, transformers imports it, and torch warns of how it does something.
        said = capsys.readouterr().err.splitlines()[-1]
        assert said == f"error: {told['$data']['message']}"
        assert "\n" not in told["$data"]["message"]
        return said

    return of


@pytest.mark.parametrize(
    ("name", "argv", "near"),
    [
        ("gpt", "--model GPTsmall", "'GPTsmall': did you mean GPTSmall"),
        ("transformers", "--model hf_bert", "'hf_bert': did you mean hf_Bert"),
        ("torchvision", "--model resnet5", "'resnet5': did you mean resnet50"),
        ("torchvision_ddp", "--model vit_l16", "'vit_l16': did you mean vit_l_16"),
    ],
)
def test_an_unknown_model_has_near_ones(refused, name, argv, near):
    assert f"unknown model {near}" in refused(name, argv)


@pytest.mark.parametrize(
    ("name", "argv", "ranks", "sentence"),
    [
        ("gpt", f"{GPT} --mode hsdp --shard-size 3", 4, "4 ranks cannot be divided by --shard"),
        ("gpt", f"{GPT} --mode pdp", 3, "3 ranks cannot be divided by --ndevice-per-proc 2"),
        ("gpt", "--mode tp-fsdp --tp-size 3", 4, "4 ranks cannot be divided by --tp-size 3"),
        ("gpt", f"{GPT} --mode tp", 3, "GPTTiny has 4 heads, which 3 ranks cannot share"),
        ("gpt", f"{GPT} --mode tp --sequence-parallel --block-size 15", 2, "heads and 15 tokens"),
        ("gpt", f"{GPT} --mode pipeline --chunks 1", 11, "cannot have 11 stages"),
        ("transformers", f"{BERT} --mode pdp", 3, "3 ranks cannot be divided by --ndev"),
        ("transformers", f"{BERT} --mode tp", 3, "hf_Bert has 4 heads, which 3 ranks cannot share"),
        ("torchvision_ddp", f"{IMAGES} --mode hsdp --shard-size 3", 4, "divided by --shard-size 3"),
    ],
)  # fmt: skip
def test_ranks_that_the_mesh_cannot_divide(refused, name, argv, ranks, sentence):
    assert sentence in refused(name, argv, ranks, kind="SkippedError")


@pytest.mark.parametrize(
    ("name", "argv", "sentence"),
    [
        ("gpt", f"{GPT} --mode pipeline --chunks 3", "a batch of 16 cannot be divided by --c"),
        ("transformers", f"{BERT} --mode pipeline --chunks 3", "a batch of 8 cannot be divided by"),
        ("gpt", f"{GPT} --mode fsdp --accumulate 3", "a batch of 8 cannot be divided by --accum"),
        ("torchvision_ddp", f"{IMAGES} --accumulate 3", "a batch of 2 cannot be divided by --acc"),
    ],
)  # fmt: skip
def test_a_batch_that_the_parts_cannot_divide(refused, name, argv, sentence):
    assert sentence in refused(name, argv, 2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "argv"),
    [
        ("flops", "--m 8 --n 8 --dtype tf32"),
        ("gpt", f"{GPT} --mode single --dtype tf32"),
        ("transformers", f"{BERT} --mode ddp --precision tf32"),
        ("torchvision", f"{IMAGES} --precision tf32"),
        ("torchvision_ddp", f"{IMAGES} --precision tf32"),
    ],
)
def test_a_precision_that_the_device_lacks(refused, name, argv):
    said = refused(name, argv, kind="SkippedError")
    assert "tf32 is a mode of CUDA's tensor cores: cpu has none" in said


@pytest.mark.parametrize("name", ["torchvision", "torchvision_ddp"])
def test_a_folder_of_data_that_is_missing_or_empty(refused, name, tmp_path):
    argv, sentence = {
        "torchvision": (f"{FOLDER} --data {tmp_path / 'none'}", "none: no such folder"),
        "torchvision_ddp": (f"{FOLDER} --data {tmp_path}", "Couldn't find any class folder"),
    }[name]
    assert sentence in refused(name, argv)


def test_a_folder_of_data_that_was_not_named(refused):
    assert "--loader image-folder needs --data FOLDER" in refused("torchvision", FOLDER)


def test_a_size_that_does_not_fit(refused):
    said = refused("gpt", "--model GPT1T --mode fsdp", 8, kind="SkippedError")
    assert "GPT1T in mode fsdp on 8 ranks needs about" in said
    assert "use a mode that shards more, more ranks, or devices of 1486 GiB" in said


@pytest.mark.parametrize(
    ("name", "argv", "sentence"),
    [
        ("elastic_ddp", "--batch-size 0", "0 is less than 1"),
        ("gpt", "--steps many", "invalid integer value: 'many'"),
        ("comm", "--op scatter", "invalid choice: 'scatter'"),
        ("torchvision", "--mode ddp", "invalid choice: 'ddp'"),
    ],
)
def test_options_that_do_not_parse(capsys, name, argv, sentence):
    with pytest.raises(SystemExit) as end:
        program(name).main(argv.split())
    assert end.value.code == 2
    assert sentence in capsys.readouterr().err
