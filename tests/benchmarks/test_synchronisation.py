"""No program's training step waits for the device: to read a number is to wait for it."""

import importlib.util
from contextlib import redirect_stdout
from io import StringIO

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.common.session import Session
from tests.support.programs import program

# Operations whose result, or the size of it, the host must know.
READS = ("_local_scalar_dense", "nonzero", "masked_select", "equal", "is_nonzero")
GPT = "--block-size 16 --optimizer adamw"
TEXT = "--scale tiny --layers 2 --tokens 16"
IMAGES = "--image-size 32"
CASES = [
    ("gpt", f"--model GPTTiny {GPT} --mode single"),
    ("gpt", f"--model llama3-tiny {GPT} --mode single"),
    ("gpt", f"--model llama3-tiny {GPT} --mode fsdp --precision amp"),
    ("gpt", f"--model GPTTiny {GPT} --mode pipeline --chunks 2"),
    ("gpt", f"--model GPTTiny {GPT} --mode ddp --accumulate 2"),
    *[
        ("transformers", f"--model {model} {TEXT} --mode single")
        for model in ("hf_Bert", "hf_GPT2", "hf_T5")
    ],
    ("transformers", f"--model hf_GPT2 {TEXT} --mode pipeline --chunks 2"),
    ("transformers", "--model hf_ViT_large --scale tiny --layers 2 --mode single"),
    ("torchvision", f"--model resnet18 {IMAGES} --precision amp"),
    ("torchvision_ddp", f"--model vit_b_16 {IMAGES}"),
    ("torchvision_ddp", f"--model resnet18 {IMAGES} --mode fsdp"),
]
if importlib.util.find_spec("lightning") is not None:
    CASES.append(("lightning", f"--model resnet18 {IMAGES}"))


class Reads(TorchDispatchMode):
    """The operations that read a number of a tensor."""

    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        # Numbers of 32 bits are of DDP's map of used parameters, which is always on the host.
        if function.__name__.split(".")[0] in READS and args[0].dtype != torch.int32:
            self.found.append(function.__name__)
        return function(*args, **(kwargs or {}))


@pytest.fixture
def reads(wire, monkeypatch):
    """The reads of a program's steps, from the second on; not those between two steps."""

    def run(name, options):
        steps, found = Session.steps, []

        def watched(session, *args, **settings):
            for count, batch in enumerate(steps(session, *args, **settings)):
                with Reads() as mode:
                    yield batch
                if count > 0:
                    found.append(mode.found)

        monkeypatch.setattr(Session, "steps", watched)
        argv = f"{options} --device cpu --batch-size 2 --steps 2 --warmup 1".split()
        with redirect_stdout(StringIO()):
            program(name).main(argv)
        wire.close()
        return found

    return run


@pytest.mark.filterwarnings("ignore")  # those of Lightning, and of FSDP on one rank
@pytest.mark.parametrize(("name", "options"), CASES)
def test_no_step_reads_a_number(reads, name, options):
    assert reads(name, options) == [[], []]


def test_a_read_is_seen(reads, monkeypatch):
    torchvision = program("torchvision")
    step = torchvision.train_step

    def reading(run, strategy, batch):
        step(run, strategy, batch)
        batch[0].sum().item()

    monkeypatch.setattr(torchvision, "train_step", reading)
    monkeypatch.setitem(globals(), "program", lambda name: torchvision)
    found = reads("torchvision", f"--model resnet18 {IMAGES}")
    assert found == [["_local_scalar_dense.default"]] * 2
