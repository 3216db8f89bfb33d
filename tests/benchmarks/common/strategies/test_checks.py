from dataclasses import replace

import pytest
import torch

from benchmarks.common import strategies
from benchmarks.common.failure import UnsupportedError
from benchmarks.common.group import Group
from tests.support.strategies import options, workload


def check(argv, ranks=4, device="cpu", **settings):
    args = options(argv, **settings)
    strategies.check(args, workload(args), Group(torch.device(device), 0, ranks))


@pytest.mark.parametrize("mode", strategies.MODES)
def test_every_mode_is_possible(mode):
    check(f"--mode {mode}")


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        ("--mode fsdp --comm-hook bf16", "--comm-hook is for mode ddp, not for fsdp"),
        ("--mode ddp --cpu-offload", "--cpu-offload is for mode fsdp or hsdp or tp-fsdp, not"),
        ("--mode pipeline --accumulate 2", "--accumulate is for mode single or ddp"),
        ("--mode hsdp --shard-size 3", "4 ranks cannot be divided by --shard-size 3"),
        ("--mode pdp --ndevice-per-proc 3", "4 ranks cannot be divided by --ndevice-per-proc 3"),
        ("--mode tp-fsdp --tp-size 3", "4 ranks cannot be divided by --tp-size 3"),
        ("--mode ddp --accumulate 3", "a batch of 8 cannot be divided by --accumulate 3"),
        ("--mode pipeline --chunks 3", "a batch of 32 cannot be divided by --chunks 3"),
        (
            "--mode pipeline --schedule LoopedBFS --stages-per-rank 3",
            "4 microbatches for each stage need a --batch-size of 12, not 8: raise it, or choose",
        ),
        (
            "--mode fsdp --activation-every 2",
            "--activation-every says which blocks --activation is for: add --activation checkpoint",
        ),
        (
            "--mode fsdp --activation checkpoint --activation-every 4",
            "--activation-every 4 is for no block: the model has 3 at most",
        ),
        (
            "--mode pipeline --activation selective --activation-every 2",
            "--activation-every 2 is for no block: a stage has 1 at most",
        ),
        (
            "--mode ddp --activation offload --compile inductor",
            "--activation offload brings tensors back in another layout than --compile inductor",
        ),
        ("--mode ddp --comm-hook powersgd", "PowerSGD fails on gloo"),
        ("--mode ddp --static-graph --accumulate 2", "--static-graph expects every backward pass"),
        ("--mode ddp --static-graph --find-unused-parameters", "drop one of the two options"),
        ("--mode ddp --compile eager --bucket-cap-mb 0.5", "Dynamo's first bucket has 1 MiB"),
        (
            "--mode pipeline --schedule ZBVZeroBubble --compile eager",
            "ZBVZeroBubble computes the gradients of inputs and weights apart",
        ),
        (
            "--mode single --compile-mode max-autotune-no-cudagraphs",
            "--compile-mode max-autotune-no-cudagraphs is inductor's: add --compile inductor",
        ),
        (
            "--mode single --compile inductor --compile-mode reduce-overhead",
            "CUDA graphs, which cpu has not: use max-autotune-no-cudagraphs",
        ),
        (
            "--mode pdp --schedule DualPipeV --stages-per-rank 3",
            "DualPipeV has two stages on each rank, not 3",
        ),
        (
            "--mode pdp --schedule DualPipeV --reshard-after-forward",
            "DualPipeV trains with wrong gradients where parameters are resharded after forward",
        ),
    ],
)
def test_what_cannot_be_is_one_sentence(argv, sentence):
    with pytest.raises(UnsupportedError) as refusal:
        check(argv)
    assert sentence in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("mode", ["fsdp", "pipeline", "tp"])
def test_a_scaler_sees_only_its_own_part(mode):
    with pytest.raises(UnsupportedError, match=f"under {mode} a rank's gradient scaler"):
        check(f"--mode {mode}", precision="amp-fp16")
    check("--mode ddp", precision="amp-fp16")


def test_fsdp_lowers_fp32_alone():
    with pytest.raises(UnsupportedError, match="it does not go with bf16"):
        check("--mode fsdp --mixed-precision bf16", precision="bf16")


@pytest.mark.parametrize("mode", ["pipeline", "pdp"])
def test_a_model_that_cannot_be_cut(mode):
    args = options(f"--mode {mode}")
    whole = replace(workload(args), stages=None)
    with pytest.raises(UnsupportedError, match="this model cannot be cut into stages"):
        strategies.check(args, whole, Group(torch.device("cpu"), 0, 4))


def test_a_model_without_a_plan():
    args = options("--mode tp")
    with pytest.raises(UnsupportedError, match="this model has no plan for tensor parallelism"):
        strategies.check(
            args, replace(workload(args), tp_plan=None), Group(torch.device("cpu"), 0, 4)
        )


GRAPHS = "--compile inductor --compile-mode"


def test_cuda_graphs_are_for_one_gpu_and_one_backward_pass():
    check(f"--mode single {GRAPHS} reduce-overhead", ranks=1, device="cuda")
    check(f"--mode ddp {GRAPHS} max-autotune-no-cudagraphs", device="cuda")
    with pytest.raises(UnsupportedError, match="graphs, which overwrite the gradients that --acc"):
        check(f"--mode single --accumulate 2 {GRAPHS} max-autotune", ranks=1, device="cuda")


@pytest.mark.parametrize("mode", [mode for mode in strategies.MODES if mode != "single"])
def test_cuda_graphs_are_not_for_several_ranks(mode):
    with pytest.raises(UnsupportedError, match=f"stay in place: not under mode {mode}; use max"):
        check(f"--mode {mode} {GRAPHS} reduce-overhead", device="cuda")
