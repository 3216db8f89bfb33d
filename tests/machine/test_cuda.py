import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.machine.cuda import visible
from milabench_ddp.machine.nvml import Gpu, Instance, Inventory

PCI = "PCI_BUS_ID"


def inventory(*names: str, problems: tuple[str, ...] = (), first: int = 0) -> Inventory:
    return Inventory(
        tuple(
            Gpu(i, f"GPU-{i}-uuid", name, 80_000.0, False, ())
            for i, name in enumerate(names, first)
        ),
        problems,
    )


ALIKE = inventory(*["H200"] * 8)
MIG = Inventory(
    (
        Gpu(0, "GPU-0-uuid", "A100", 80_000.0, False, ()),
        Gpu(
            1,
            "GPU-1-uuid",
            "A100",
            80_000.0,
            True,
            (Instance("MIG-a", 40_000.0), Instance("MIG-b", 20_000.0)),
        ),
        Gpu(2, "GPU-2-uuid", "A100", 80_000.0, True, ()),
    ),
    (),
)


def shown(known: Inventory, value: str | None = None, **environ: str) -> list[tuple[int, str]]:
    if value is not None:
        environ["CUDA_VISIBLE_DEVICES"] = value
    return [(device.index, device.id) for device in visible(known, environ).devices]


def test_gpus_that_are_alike_go_by_index() -> None:
    assert shown(inventory("H200", "H200")) == [(0, "0"), (1, "1")]
    assert visible(ALIKE, {}).notes == ()


def test_the_callers_order_and_form_are_kept() -> None:
    assert shown(ALIKE, "5,2") == [(5, "5"), (2, "2")]
    assert shown(ALIKE, "GPU-5,GPU-2-uuid") == [(5, "GPU-5-uuid"), (2, "GPU-2-uuid")]


@given(st.lists(st.integers(0, 7), unique=True, min_size=1))
def test_what_a_plan_sets_shows_the_same_again(chosen: list[int]) -> None:
    first = shown(ALIKE, ",".join(map(str, chosen)))
    assert [index for index, _ in first] == chosen
    assert shown(ALIKE, ",".join(id for _, id in first)) == first


def test_hidden_gpus_are_counted() -> None:
    found = visible(ALIKE, {"CUDA_VISIBLE_DEVICES": ""})
    assert found.devices == ()
    assert found.notes == ("CUDA_VISIBLE_DEVICES='' leaves none of 8 GPUs visible",)


def test_gpus_that_differ_go_by_uuid() -> None:
    mixed = inventory("A100", "T400")
    assert shown(mixed) == [(0, "GPU-0-uuid"), (1, "GPU-1-uuid")]
    assert visible(mixed, {}).notes == ()


def test_an_index_among_gpus_that_differ_is_pointed_out() -> None:
    mixed = inventory("T400", "A100")
    assert shown(mixed, "1") == [(1, "GPU-1-uuid")]
    assert visible(mixed, {"CUDA_VISIBLE_DEVICES": "1"}).notes == (
        "the GPUs differ: CUDA_VISIBLE_DEVICES=1 was read in nvidia-smi's order; "
        "name GPUs by UUID to be sure",
    )
    assert visible(mixed, {"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": PCI}).notes == ()
    assert visible(mixed, {"CUDA_VISIBLE_DEVICES": "GPU-1"}).notes == ()


def test_beside_a_gpu_that_is_left_out_the_others_go_by_uuid() -> None:
    known = inventory("H200", "H200", problems=("GPU 0 is left out: lost",), first=1)
    found = visible(known, {"CUDA_VISIBLE_DEVICES": "0"})
    assert [(device.index, device.id) for device in found.devices] == [(1, "GPU-1-uuid")]
    assert found.notes == ("GPU 0 is left out: lost",)


def test_a_mig_device_is_its_uuid_and_its_own_memory() -> None:
    (device,) = visible(MIG, {"CUDA_VISIBLE_DEVICES": "MIG-b"}).devices
    assert (device.index, device.id, device.memory_mib) == (1, "MIG-b", 20_000.0)


def test_mig_devices_of_one_gpu_are_numbered() -> None:
    assert shown(MIG, "MIG-b,MIG-a") == [(0, "MIG-b"), (1, "MIG-a")]


def test_a_gpu_in_mig_mode_stands_for_its_first_instance() -> None:
    (device,) = visible(MIG, {"CUDA_VISIBLE_DEVICES": "1"}).devices
    assert (device.index, device.id, device.memory_mib) == (1, "MIG-a", 40_000.0)


@pytest.mark.parametrize(("value", "others"), [("2", []), ("0,2", [(0, "0")])])
def test_a_gpu_in_mig_mode_without_instances(value: str, others: list[tuple[int, str]]) -> None:
    assert shown(MIG, value) == others
    assert visible(MIG, {"CUDA_VISIBLE_DEVICES": value}).notes == (
        "GPU 2 is left out: in MIG mode without an instance (nvidia-smi mig -cgi)",
    )


def test_no_gpu() -> None:
    assert visible(Inventory((), ()), {}).notes == ("the NVIDIA driver knows no GPU",)
    assert visible(Inventory((), ("GPU 0 is left out: x",)), {}).notes == ("GPU 0 is left out: x",)
