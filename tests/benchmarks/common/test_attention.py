"""The kernel of attention: what a program tells is what it runs, and only what it is asked for."""

import argparse
import warnings
from contextlib import redirect_stdout
from io import StringIO
from types import SimpleNamespace

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.common import attention
from benchmarks.common.failure import UnsupportedError
from benchmarks.common.session import Session
from tests.support.programs import program

SMALL = "--device cpu --batch-size 2 --steps 1 --warmup 1"
CHECK = "--check-correctness --check-steps 1"
LLAMA = f"--model llama3-tiny --block-size 16 --mode single {SMALL}"
VIT = f"--model hf_ViT_large --scale tiny --layers 1 --mode single {SMALL}"


class Flash(TorchDispatchMode):
    """Counts the calls of flash attention."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.calls += function.__name__.startswith("_scaled_dot_product_flash")
        return function(*args, **(kwargs or {}))


@pytest.fixture
def trained(wire, monkeypatch):
    """The kernel that a program tells, and whether flash attention ran in its check and steps."""

    def run(name, options):
        steps, in_steps = Session.steps, Flash()

        def watched(session, *args, **settings):
            for batch in steps(session, *args, **settings):
                with in_steps:
                    yield batch

        monkeypatch.setattr(Session, "steps", watched)
        with redirect_stdout(StringIO()), Flash() as anywhere:
            program(name).main(options.split())
        (model,) = [p["model"] for p in wire.close() if "model" in p]
        return model["attention"], anywhere.calls > 0, in_steps.calls > 0

    return run


@pytest.mark.parametrize(
    ("name", "options", "asked", "kernel"),
    [
        ("gpt", LLAMA, "auto", "flash"),
        ("gpt", f"{LLAMA} {CHECK}", "math", "math"),
        ("transformers", VIT, "flash", "flash"),
        ("transformers", VIT, "math", "math"),
    ],
)
def test_the_kernel_that_is_told_is_the_one_that_runs(trained, name, options, asked, kernel):
    flash = kernel == "flash"
    assert trained(name, f"{options} --attention {asked}") == (kernel, flash, flash)


@pytest.mark.parametrize("asked", ["cudnn", "efficient"])
def test_what_a_device_lacks_is_refused(wire, capsys, asked):
    with pytest.raises(SystemExit) as end:
        program("gpt").main([*LLAMA.split(), "--attention", asked])
    assert end.value.code == 2
    sentence = f"--attention {asked} cannot compute the attention of llama3-tiny in fp32 on cpu: "
    assert sentence in capsys.readouterr().err
    assert [p["$event"] for p in wire.close() if "$event" in p] == ["error"]


def test_what_a_model_needs_decides(wire, capsys):
    """BERT's attention has dropout, which flash attention on CPUs does not support."""
    options = f"--model hf_Bert --scale tiny --layers 1 --mode single {SMALL}"
    with pytest.raises(SystemExit):
        program("transformers").main([*options.split(), "--attention", "flash"])
    assert "--attention flash cannot compute the attention of hf_Bert" in capsys.readouterr().err
    wire.close()


def test_other_kernels_come_back():
    query = torch.zeros(1, 1, 4, 8)
    with attention.only("efficient"), pytest.raises(RuntimeError):
        scaled_dot_product_attention(query, query, query)
    with attention.only("efficient", or_math=True):
        scaled_dot_product_attention(query, query, query)
    with Flash() as flash:
        scaled_dot_product_attention(query, query, query)
    assert flash.calls == 1


def refusing(model, batch):
    text = "Flash wants heads of 256 at most (Triggered internally at sdp.cpp:1.)"
    warnings.warn(text, stacklevel=1)
    raise RuntimeError("No available kernel. Aborting execution.")


def test_reasons_of_pytorch_are_told():
    args = argparse.Namespace(
        attention="flash", model="wide", mode="single", precision="bf16", mixed_precision="auto"
    )
    workload = SimpleNamespace(make_model=lambda: torch.nn.Linear(1, 1), loss=refusing)
    samples = [(torch.zeros(1), torch.zeros(1))]
    with pytest.raises(UnsupportedError) as refused:
        attention.kernel(args, workload, samples, torch.device("cpu"))
    assert str(refused.value) == (
        "--attention flash cannot compute the attention of wide in bf16 on cpu: "
        "Flash wants heads of 256 at most"
    )
