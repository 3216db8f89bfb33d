import pytest

from benchmarks.gpt.shapes import SHAPES
from benchmarks.gpt.shares import Bytes, share_of, wrapped_blocks
from tests.support.strategies import options

SHAPE = SHAPES["GPT1B"]


@pytest.mark.parametrize(
    ("argv", "precision", "sizes"),
    [
        ("single", "bf16", (2, 2, 2, 2, 2, 0)),
        ("single", "amp", (4, 2, 4, 4, 4, 2)),
        ("fsdp", "amp", (4, 2, 4, 2, 4, 0)),
        ("fsdp --mixed-precision none", "amp", (4, 2, 4, 4, 4, 2)),
        ("fsdp --mixed-precision bf16", "fp32", (4, 2, 2, 2, 4, 0)),
        ("ddp", "fp64", (8, 8, 8, 8, 8, 0)),
    ],
)
def test_the_bytes_of_a_number(argv, precision, sizes):
    args = options(f"--mode {argv}", precision=precision)
    assert Bytes.of(args) == Bytes(*sizes)


@pytest.mark.parametrize("argv", ["fsdp", "hsdp --shard-size 8", "tp-fsdp"])
def test_shards_add_up_to_the_model(argv):
    share = share_of(SHAPE, options(f"--mode {argv}"), 8, 0)
    assert 8 * share.kept == pytest.approx(SHAPE.parameters, rel=0.02)  # the embedding twice


def test_stages_add_up_to_the_model():
    args = options("--mode pipeline", batch_size=8)
    shares = [share_of(SHAPE, args, 4, rank) for rank in range(4)]
    assert sum(share.kept for share in shares) == SHAPE.parameters
    assert [share.scored > 0 for share in shares] == [False, False, False, True]
    blocks = [share.passes / (4 - rank) for rank, share in enumerate(shares)]
    assert sum(blocks) == SHAPE.layers


@pytest.mark.parametrize(
    ("argv", "wrapped", "last"),
    [
        ("fsdp --activation-every 5", 4, False),
        ("fsdp --activation-every 8", 3, True),
        # Stages of 6 blocks: an embedding of 3,072 words is smaller than a block.
        ("pipeline --activation-every 4", 4, False),
        ("pipeline --activation-every 6", 4, True),
    ],
)
def test_every_nth_block_of_all_or_of_a_stage(argv, wrapped, last):
    args = options(f"--mode {argv} --activation checkpoint")
    assert wrapped_blocks(SHAPE, args, 4) == wrapped
    shares = [share_of(SHAPE, args, 4, rank) for rank in range(4)]
    assert {share.last_is_wrapped for share in shares} == {last}
    if args.mode == "pipeline":
        assert sum(share.wrapped / (4 - rank) for rank, share in enumerate(shares)) == wrapped
