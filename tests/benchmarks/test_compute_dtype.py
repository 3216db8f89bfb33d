"""Each program that tells FLOPs tells the type in which its matrix products run."""

import importlib.util
from contextlib import redirect_stdout
from io import StringIO

import pytest

from tests.support.matrix_products import MatrixProducts
from tests.support.programs import program

SMALL = "--batch-size 2 --steps 1 --warmup 1"
VISION = f"--model resnet18 --image-size 32 {SMALL}"
PROGRAMS = {
    "flops": "--m 32 --n 32 --number 2 --repeat 2 --warmup 1",
    "gpt": f"--model GPTTiny --block-size 16 {SMALL}",
    "transformers": f"--model hf_Bert --scale tiny --tokens 16 {SMALL}",
    "torchvision": VISION,
    "torchvision_ddp": VISION,
}
if importlib.util.find_spec("lightning") is not None:
    PROGRAMS["lightning"] = VISION

# What PyTorch's documentation says of each; tf32 needs CUDA (see ``common/test_precision.py``).
TYPES = {"amp": "bf16", "amp-fp16": "fp16"}
GPU_ONLY = ("tf32", "fp8")
PIPELINE = "--mode pdp --ndevice-per-proc 1 --schedule 1F1B --chunks 2"


def precisions(name):
    """The precisions that a program offers, by its option."""
    (option,) = (
        action
        for action in program(name).options()._actions
        if {"--dtype", "--precision"} & set(action.option_strings)
    )
    return [(option.option_strings[0], choice) for choice in option.choices]


def told_and_used(wire, name, options):
    argv = f"{PROGRAMS[name]} --device cpu {options}".split()
    with redirect_stdout(StringIO()), MatrixProducts() as products:
        program(name).main(argv)
    told = [p["compute_dtype"] for p in wire.close() if "compute_dtype" in p]
    return told, set(products.types)


CASES = [
    pytest.param(name, f"{option} {choice}", TYPES.get(choice, choice), id=f"{name}-{choice}")
    for name in PROGRAMS
    for option, choice in precisions(name)
    if choice not in GPU_ONLY and (name, choice) != ("lightning", "amp-fp16")
    if name != "torchvision_ddp" or choice == "amp"  # the model is that of `torchvision`
]
LOWERED = [
    pytest.param(name, f"{mode} --mixed-precision {type_}", type_, id=f"{name}-{place}-{type_}")
    for name, place, mode, types in (
        ("gpt", "fsdp", "--mode fsdp", ("fp32", "fp16", "bf16")),
        ("gpt", "hsdp", "--mode hsdp", ("bf16",)),
        ("gpt", "tp-fsdp", "--mode tp-fsdp --tp-size 1", ("fp16",)),
        ("gpt", "pdp", PIPELINE, ("fp32", "bf16")),
        ("gpt", "replicate", f"{PIPELINE} --replicated-by replicate", ("fp16",)),
        ("transformers", "fsdp", "--mode fsdp", ("bf16",)),
        ("torchvision_ddp", "fsdp", "--mode fsdp", ("bf16",)),
    )
    for type_ in types
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # those of Lightning, and of FSDP on one rank
@pytest.mark.parametrize(("name", "options", "type_"), CASES + LOWERED)
def test_the_type_that_is_told_is_the_type_that_is_used(wire, name, options, type_):
    told, used = told_and_used(wire, name, options)
    assert told == [type_]
    assert used == {type_}
