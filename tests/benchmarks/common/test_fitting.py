import pytest
import torch

from benchmarks.common import fitting
from benchmarks.common.failure import SkippedError, instead
from benchmarks.common.fitting import CONTEXT, GIB, SPARE, Memory
from benchmarks.gpt import main as gpt_main
from benchmarks.gpt.shapes import shape_of
from tests.support.fake_gpu import fake_gpu


def fitted(argv, gib, each, fixed=1.0, ranks=2):
    """The options after the fit, of a model that takes ``fixed`` and ``each`` sequence GiB."""
    args = gpt_main.options().parse_args(["--precision", "bf16", *argv.split()])
    workload = gpt_main.make_workload(args, shape_of("GPTSmall"))
    with fake_gpu(gib, ranks) as group:
        fitting.fit(
            args,
            group,
            workload,
            lambda given: Memory(fixed * GIB, 0, 0, each * given.batch_size * GIB),
        )
    return args


@pytest.mark.parametrize(
    ("argv", "gib", "each", "batch"),
    [
        ("--batch-size 32", 80, 2, 32),
        ("--batch-size 32", 70.3, 2, 32),  # (70.3 - 2) / 1.05 = 65.05
        ("--batch-size 32", 70.2, 2, 24),
        ("--batch-size 32", 24, 2, 8),
        ("--batch-size 12", 24, 2, 8),
        ("--batch-size 32", 12, 2, 4),
        ("--batch-size 32", 6, 2, 1),
        ("--batch-size 100", 80, 0.75, 96),
        ("--batch-size 32 --accumulate 16", 34, 1, 16),  # 24 has no 16 parts
        ("--batch-size 32 --mode pipeline", 24, 2, 8),
    ],
)
def test_the_largest_batch_that_fits_is_taken(argv, gib, each, batch):
    args = fitted(f"{argv} --fit-batch", gib, each)
    assert args.batch_size == batch
    assert batch == 1 or (each * batch + 1) * SPARE * GIB <= gib * GIB - CONTEXT
    asked = int(argv.split()[1])
    told = {} if batch == asked else {"asked_batch_size": asked, "device_gib": gib}
    assert args.fitted == told


def test_without_the_option_it_is_skipped_with_the_batch_that_fits():
    with pytest.raises(
        SkippedError, match=r"needs about 65.0 GiB .* 36.2 can be used: --batch-size 16 fits"
    ):
        fitted("--batch-size 32", 40, 2)


@pytest.mark.parametrize(
    ("argv", "gib", "least"),
    [("--batch-size 32", 4, 6), ("--batch-size 4 --mode pipeline", 8, 12)],  # 5.15, 11.45
)
def test_where_no_batch_fits_it_says_which_devices_would_do(argv, gib, least):
    batch = fitted(f"{argv} --fit-batch", least, 2).batch_size
    why = rf"more ranks, or devices of {least} GiB, which fit --batch-size {batch}$"
    with pytest.raises(SkippedError, match=why):
        fitted(f"{argv} --fit-batch", gib, 2)


def test_what_is_offloaded_must_fit_the_host():
    args = gpt_main.options().parse_args(["--batch-size=32", "--fit-batch"])
    workload = gpt_main.make_workload(args, shape_of("GPTSmall"))
    with fake_gpu(80, host=100) as group:
        with pytest.raises(SkippedError, match=r"128.0 GiB of the host .* 100.0: offload less"):
            fitting.fit(args, group, workload, lambda _: Memory(1, 1, 1, 1, 128 * GIB))
        fitting.fit(args, group, workload, lambda a: Memory(1, 1, 1, 1, 4 * a.batch_size * GIB))
    assert args.batch_size == 24


def test_the_smallest_device_decides_for_all(monkeypatch):
    of_another = 24 * GIB
    monkeypatch.setattr("benchmarks.common.group.Group.largest", lambda _, x: max(x, -of_another))
    assert fitted("--batch-size 32 --fit-batch", 80, 2).batch_size == 8


def test_the_precision_is_looked_at_first():
    args = gpt_main.options().parse_args(["--model=GPT1T", "--dtype=bf16", "--mode=ddp"])
    why = r"^bf16 needs compute capability 8.0"
    with fake_gpu(16, 8, capability=(7, 0)) as group, pytest.raises(SkippedError, match=why):
        gpt_main.checked(args, group)


def test_ranks_share_the_host(monkeypatch):
    alone = fitting.capacity(torch.device("cpu"))
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    assert fitting.capacity(torch.device("cpu")) == alone / 4


def test_the_nearest_numbers_are_told():
    assert instead(7, lambda count: count % 2 == 0) == "6 or 8 can"
    assert instead(16, lambda count: 8 % count == 0) == "8 can"
    assert instead(1, lambda count: count == 2) == "2 can"
    assert instead(3, lambda count: False) == "no number can"
