"""Every mode trains as one device does: 3 steps, on 2 and on 4 ranks, one process group each."""

import json
from itertools import cycle
from pathlib import Path

import pytest

from tests.support.programs import on_ranks

CASES = Path(__file__).with_name("equality.py")
SCHEDULES = (
    "GPipe", "1F1B", "Interleaved1F1B", "LoopedBFS",
    "InterleavedZeroBubble", "ZBVZeroBubble", "DualPipeV",
)  # fmt: skip

TWO = {
    "ddp": "--mode ddp",
    "ddp-accumulate": "--mode ddp --accumulate 2",
    "ddp-unused": "--mode ddp --find-unused-parameters --no-gradient-as-bucket-view",
    "ddp-hook": "--mode ddp --comm-hook allreduce --bucket-cap-mb 0.05",
    "ddp-checkpoint": "--mode ddp --activation checkpoint",
    "ddp-offload": "--mode ddp --activation offload",
    "ddp-compiled": "--mode ddp --compile eager",
    "ddp-compiled-whole": "--mode ddp --compile eager --optimize-ddp no_optimization",
    "fsdp": "--mode fsdp",
    "fsdp-kept": "--mode fsdp --no-reshard-after-forward --prefetch prehook",
    "fsdp-checkpoint": "--mode fsdp --activation checkpoint --prefetch posthook",
    "fsdp-offload": "--mode fsdp --cpu-offload --accumulate 2",
    "tp": "--mode tp",
    "tp-sequence": "--mode tp --sequence-parallel",
    "tp-offload": "--mode tp --sequence-parallel --activation offload",
} | {f"pipeline-{name}": f"--mode pipeline --schedule {name}" for name in SCHEDULES}
TWO |= {
    f"{mode}-clip": f"--mode {mode} --clip-norm 0.05" for mode in ("ddp", "fsdp", "tp", "pipeline")
} | {
    "ddp-selective": "--mode ddp --activation selective",
    "fsdp-selective": "--mode fsdp --activation selective --cpu-offload --clip-norm 0.05",
    "tp-selective": "--mode tp --sequence-parallel --activation selective",
    "pipeline-selective": "--mode pipeline --activation selective",
    "fsdp-every": "--mode fsdp --activation checkpoint --activation-every 2",
    "tp-every": "--mode tp --activation offload --activation-every 3",
    "pipeline-every": "--mode pipeline --activation selective --activation-every 2",
    "ddp-selective-compiled": "--mode ddp --activation selective --compile eager",
}
TWO_COARSE = {
    "ddp-clip in amp-fp16": "--mode ddp --clip-norm 0.05",
    "bf16-hook": "--mode ddp --comm-hook bf16",
    "fsdp-bf16": "--mode fsdp --mixed-precision bf16 --reduce-dtype fp32",
    "fsdp in amp": "--mode fsdp",
    "fsdp-accumulate in amp": "--mode fsdp --accumulate 2",
}
PRECISION = {
    "ddp-clip in amp-fp16": "amp-fp16",
    "bf16-hook": "fp32, comm-hook bf16",
    "fsdp-bf16": "fp32, mixed-precision bf16, reduce-dtype fp32",
    "fsdp in amp": "amp",
    "fsdp-accumulate in amp": "amp",
}
TWO_FLOAT8 = {
    "ddp in amp": "--mode ddp --accumulate 2 --float8 rowwise",
    "fsdp in bf16": "--mode fsdp --activation selective --float8 tensorwise",
    "pipeline in bf16": "--mode pipeline --float8 tensorwise",
    "tp in bf16": "--mode tp --float8 tensorwise",  # scaled by the largest value of all ranks
    "alone-doubled-fsdp in bf16": "--mode fsdp --float8 rowwise",
}
TWO_PLANTED = {"planted-before": "--mode ddp", "planted-after": "--mode ddp"}
TWO_MODES = {
    "ddp": "--mode ddp",
    "fsdp": "--mode fsdp",
    "tp": "--mode tp --sequence-parallel",
    "pipeline": "--mode pipeline --schedule ZBVZeroBubble",
    "hook": "--mode ddp --comm-hook bf16",
    "policy": "--mode fsdp --mixed-precision bf16 --reduce-dtype fp32",
}
TWO_WRONG = {
    # A hundredth of one parameter's gradient on one rank, and others. What is asserted is told by
    # the check in fp64: these have none in other types.
    f"planted-{error}-{mode} in fp64": argv
    for mode, argv in TWO_MODES.items()
    for error in ("first", "last", "shard", "stale", "momentum")
    if mode not in ("hook", "policy")
} | {
    f"planted-{error}-{mode} in fp32": TWO_MODES[mode]
    for mode, errors in (("hook", ("last", "shard", "stale", "momentum")), ("policy", ("shard",)))
    for error in errors
} | {
    "planted-loss-ddp in amp": "--mode ddp",
    "planted-parts-pipeline in fp32": "--mode pipeline --clip-norm 0.05",
    "planted-loss-fsdp in bf16": "--mode fsdp",
    "planted-divisor-tp in bf16": "--mode tp",
    "planted-unreduced-ddp in bf16": "--mode ddp",
}  # fmt: skip
TWO_ALONE = {
    f"alone-{error}-{mode}{precision}": TWO_MODES[mode]
    for error in ("stale", "doubled")
    for mode, precision in (
        ("ddp", " in bf16"), ("tp", " in bf16"), ("pipeline", " in amp"),
        ("hook", ""), ("policy", ""),
    )
} | {
    # A hundredth, of one parameter or of the shard of one rank, and of the updates of one rank.
    f"alone-{error}-{mode}{precision}": TWO_MODES[mode]
    for mode, precision, errors in (
        ("ddp", " in amp", ("smallest", "bias")),
        ("fsdp", " in bf16", ("shard_of_largest", "shard_of_bias", "rate")),
        ("policy", "", ("largest", "shard_of_bias")),
        ("hook", "", ("smallest", "rate")),
        ("pipeline", " in bf16", ("bias", "rate")),
        ("tp", " in bf16", ("largest", "rate")),
    )
    for error in errors
} | {
    "alone-coarse-policy": TWO_MODES["policy"],
    "alone-coarse-fsdp": "--mode fsdp --reduce-dtype fp32",
    "alone-divisor-tp in bf16": TWO_MODES["tp"],
    "alone-divisor-hook": TWO_MODES["hook"],
    "alone-loss-policy": TWO_MODES["policy"],
}  # fmt: skip
FOUR = {
    "hsdp": "--mode hsdp",
    "tp-fsdp": "--mode tp-fsdp",
    "tp-fsdp-sequence": "--mode tp-fsdp --sequence-parallel",
} | {
    f"pdp-{name}-{how}": f"--mode pdp --schedule {name} --replicated-by {how}"
    for name, how in zip(SCHEDULES, cycle(("fully_shard", "replicate")))
}
FOUR |= {
    f"{mode}-clip": f"--mode {mode} --clip-norm 0.05" for mode in ("hsdp", "tp-fsdp", "pdp")
} | {"pdp-replicate-clip": "--mode pdp --replicated-by replicate --clip-norm 0.05"}
FOUR_COARSE = {
    f"{mode} in amp": f"--mode {mode}"
    for mode in ("hsdp", "tp-fsdp", "pdp", "pdp --replicated-by replicate")
}
TRAP = "planted-trap"  # the last one: where it fails by itself, nothing can follow
FOUR_WRONG = {
    f"planted-{error}-{mode} in fp64": f"--mode {mode}"
    for mode, error in (("hsdp", "first"), ("tp-fsdp", "last"), ("pdp", "first"))
}

pytestmark = pytest.mark.slow


def verdicts(ranks, cases, folder):
    """The verdict on every case, by its name."""
    asked, told = folder / "cases", folder / "verdicts"
    asked.write_text("".join(f"{name}: {argv}\n" for name, argv in cases.items()))
    done = on_ranks(CASES, asked, told, ranks=ranks)
    found = [json.loads(line) for line in told.read_text().splitlines()]
    named = {verdict.pop("name"): verdict for verdict in found}
    if done.returncode != 0 and set(cases) - set(named) == {TRAP}:  # torch 2.11 asserts
        assert "Failed to run stage backward" in done.stderr, done.stderr
        return named | {TRAP: {"ok": False, "asserted": True}}
    assert done.returncode == 0, done.stderr
    return named


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    return verdicts(2, TWO | TWO_COARSE | TWO_PLANTED, tmp_path_factory.mktemp("two"))


@pytest.fixture(scope="module")
def two_float8(tmp_path_factory):
    pytest.importorskip("torchao")
    return verdicts(2, TWO_FLOAT8, tmp_path_factory.mktemp("two_float8"))


@pytest.fixture(scope="module")
def two_wrong(tmp_path_factory):
    return verdicts(2, TWO_WRONG | TWO_ALONE, tmp_path_factory.mktemp("two_wrong"))


@pytest.fixture(scope="module")
def four(tmp_path_factory):
    return verdicts(
        4,
        FOUR | FOUR_COARSE | FOUR_WRONG | {TRAP: "--mode pdp --schedule GPipe"},
        tmp_path_factory.mktemp("four"),
    )


def assert_equal(verdict):
    assert verdict["ok"], verdict
    assert verdict["precision"] == "fp64"
    assert verdict["gradient_error"] < 1e-13
    assert verdict["loss_error"] < 1e-13
    assert verdict["replicas_equal"]


@pytest.mark.parametrize("name", TWO)
def test_two_ranks(two, name):
    assert_equal(two[name])


@pytest.mark.parametrize("name", TWO_FLOAT8)
def test_matrices_in_fp8(two_float8, name):
    found, own = two_float8[name], two_float8[name]["in_own_types"]
    assert own["precision"].endswith(TWO_FLOAT8[name].replace("--", "").rpartition("float8")[2])
    if name.startswith("alone"):
        assert not own["ok"]
        return
    assert_equal(found)
    # Ranks that share a matrix add in another order than one device: there fp8's rounding is known
    # by its size alone.
    assert own["gradient_error"] < own["tolerance"] < (0.3 if name.startswith("tp") else 1e-2)


@pytest.mark.parametrize("name", FOUR)
def test_four_ranks(four, name):
    assert_equal(four[name])


@pytest.mark.parametrize("name", FOUR_COARSE)
def test_autocast_and_a_gathered_copy_in_sixteen_bits(four, name):
    assert_equal(four[name])
    assert four[name]["in_own_types"]["precision"] == "amp"


@pytest.mark.parametrize("name", TWO_COARSE)
def test_sixteen_bits_have_a_tolerance_of_their_own(two, name):
    assert_equal(two[name])
    own = two[name]["in_own_types"]
    assert own["gradient_error"] < own["tolerance"] < 1e-2
    assert own["precision"] == PRECISION[name]


def test_wrong_gradients_are_caught(two):
    wrong = two["planted-before"]
    assert not wrong["ok"]
    # A thousandth of one gradient of two, which point to different sides: with these seeds, that of
    # their sum, too. The verdict has two digits.
    assert wrong["gradient_error"] == pytest.approx(1e-3, rel=0.1)


def test_replicas_that_drift_are_caught(two):
    wrong = two["planted-after"]
    assert not wrong["ok"]
    assert not wrong["replicas_equal"]


@pytest.mark.parametrize("name", TWO_WRONG)
def test_what_is_planted_is_caught_in_every_mode_and_precision(two_wrong, name):
    assert not two_wrong[name]["ok"]
    assert two_wrong[name]["gradient_error"] > 1e6 * two_wrong[name]["tolerance"]


@pytest.mark.parametrize("name", TWO_ALONE)
def test_what_is_wrong_in_the_own_types_alone_is_caught(two_wrong, name):
    found = two_wrong[name]
    assert not found["ok"]
    assert found["gradient_error"] < 1e-13
    assert not found["in_own_types"]["ok"]


@pytest.mark.parametrize("name", FOUR_WRONG)
def test_what_is_planted_is_caught_on_a_mesh(four, name):
    assert not four[name]["ok"]


def test_the_wrong_wrapper_is_caught(four):
    assert not four[TRAP]["ok"]
    assert four[TRAP].get("asserted") or four[TRAP]["gradient_error"] > 0.1
