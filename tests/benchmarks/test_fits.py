"""What runs where: the suites on devices of each size, and on each number of ranks."""

import re
from copy import copy
from functools import cache
from itertools import groupby
from pathlib import Path
from unittest.mock import patch

import pytest

from benchmarks.common import model_memory, vision
from benchmarks.common.failure import SkippedError
from benchmarks.common.strategies.batches import PIPELINES
from milabench_ddp.config.conditions import MachineFacts
from milabench_ddp.config.load import SuiteRequest, load
from tests.golden import check_golden
from tests.support.fake_gpu import fake_gpu
from tests.support.programs import BENCHMARKS, program

# GB of the name of a device, and what its driver tells in GiB: RTX 4090, V100, A100, A6000, H100,
# H100 NVL, H200, B200.
GIB = {24: 23.5, 32: 31.7, 40: 39.4, 48: 47.4, 80: 79.1, 96: 93.1, 141: 139.8, 192: 178.4}
NODES = {1: (1, 1), 2: (1, 2), 3: (1, 3), 4: (1, 4), 7: (1, 7), 8: (1, 8), 16: (2, 8)}
CHECKED = {
    "gpt": program("gpt").checked,
    "transformers": program("transformers").checked,
    "torchvision": vision.checked,
    "torchvision_ddp": vision.checked,
}


def suite(name, ranks):
    nodes, gpus = NODES[ranks]
    facts = MachineFacts("cuda", nodes, gpus, 64, "GPU", 0, Path("/nowhere"), gpu_capability=9.0)
    return load(SuiteRequest(str(BENCHMARKS.parent / "config" / f"{name}.yaml")), facts)


@cache
def parsed(name, *argv):
    return program(name).options().parse_args(argv)


def outcome(benchmark, gib, ranks, **device):
    """``32``, the batch that runs, or why it is skipped."""
    name = benchmark.program.parent.name
    args = copy(parsed(name, *benchmark.argv))
    alone = args.mode == "single"
    with fake_gpu(gib, 1 if alone else ranks, **device) as group:
        try:
            CHECKED[name](args, group)
        except SkippedError as error:
            return f"skipped: {error}"
    return str(args.batch_size)


@pytest.fixture
def counted_once():
    """The same model is counted once, for all devices and numbers of ranks."""
    right, found = model_memory._counts, {}

    def counts(args, workload, sample, device):
        cut = args.mode in PIPELINES  # its ends are not tied
        key = args.model, args.precision, args.activation, tuple(sample[0].shape), cut
        if key not in found:
            found[key] = right(args, workload, sample, device)
        return found[key]

    with patch.object(model_memory, "_counts", counts):
        yield


def on_all_sizes(benchmark, ranks):
    """``8 on 24 to 40 GB, 16 on 48 to 192 GB``."""
    cells = [(outcome(benchmark, gib, ranks), gb) for gb, gib in GIB.items()]
    told = []
    for what, of in groupby(cells, lambda cell: cell[0]):
        sizes = [str(gb) for _, gb in of]
        told.append((what, " to ".join(dict.fromkeys((sizes[0], sizes[-1])))))
    if len(told) == 1:
        return told[0][0]
    return ", ".join(f"{what} on {sizes} GB" for what, sizes in told)


def lines(name):
    """A paragraph for each benchmark that trains: by ranks, the batch, or why it is skipped."""
    of_ranks = {}
    for ranks in NODES:
        found = suite(name, ranks)
        for skip in found.skipped:
            of_ranks.setdefault(skip.name, {})[ranks] = f"skipped: {skip.reason.split(' (')[0]}"
        for benchmark in found.benchmarks:
            if benchmark.program.parent.name in CHECKED:
                told = on_all_sizes(benchmark, ranks)
                of_ranks.setdefault(benchmark.name, {})[ranks] = told
    for benchmark, told in sorted(of_ranks.items()):
        if len(told) == len(NODES):  # others have no check
            yield benchmark
            for what, of in groupby(told.items(), lambda item: item[1]):
                yield f"  {' '.join(str(ranks) for ranks, _ in of):15}{what}"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["everything", "strategies", "ddp"])
def test_each_runs_or_is_skipped_with_the_reason(name, counted_once):
    text = "\n".join(lines(name)) + "\n"
    check_golden(f"fits/{name}.txt", text)


def test_an_old_gpu_is_told_its_precision_before_its_memory():
    found = {b.name: b for b in suite("ddp", 8).benchmarks}
    for name in ("gpt-ddp", "llama-1b-single", "bert-ddp", "resnet50", "gpt-tp"):
        why = outcome(found[name], 16, 8, capability=(7, 0))
        assert re.fullmatch(r"skipped: (bf16|amp) needs compute capability 8.0, \S+ has 7.0", why)


@pytest.mark.parametrize(
    ("nodes", "gpus", "those"),
    [(2, 1, {"gpt-ddp", "gpt-fsdp"}), (2, 4, {"llama-8b-fsdp"}), (4, 1, {"gpt-hsdp", "gpt-pdp"})],
)
def test_a_condition_counts_the_ranks_of_all_nodes(nodes, gpus, those):
    facts = MachineFacts("cuda", nodes, gpus, 64, "GPU", 0, Path("/nowhere"))
    found = load(SuiteRequest(str(BENCHMARKS.parent / "config" / "ddp.yaml")), facts)
    assert those <= {benchmark.name for benchmark in found.benchmarks}
