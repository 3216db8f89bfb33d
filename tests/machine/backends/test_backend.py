import pytest
from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.machine.backends import BACKENDS
from milabench_ddp.machine.backends.backend import select
from milabench_ddp.machine.devices import Device

UUIDS = [f"GPU-{letter}{i}" for i, letter in enumerate("abcdefgg")]
MIGS = ["MIG-x0", "MIG-x1", "MIG-y0"]


def positions(value: str | None) -> list[int]:
    return [choice.position for choice in select(value, UUIDS, MIGS)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(None, [0, 1, 2, 3, 4, 5, 6, 7], id="unset"),
        pytest.param("3", [3], id="one"),
        pytest.param("3,1", [3, 1], id="order is kept"),
        pytest.param(" 3 , 1 ", [3, 1], id="spaces"),
        pytest.param("+2", [2], id="sign"),
        pytest.param("1gpu2,2ampere", [1, 2], id="as strtoul reads numbers"),
        pytest.param("", [], id="empty"),
        pytest.param("-1", [], id="minus one"),
        pytest.param("NoDevFiles", [], id="NoDevFiles"),
        pytest.param("0,1,-1,2", [0, 1], id="minus one hides what follows"),
        pytest.param("0,8,2", [0], id="too large hides itself and what follows"),
        pytest.param("0,,2", [0], id="nothing between commas"),
        pytest.param("0,1,0", [], id="twice"),
        pytest.param("GPU-c2", [2], id="uuid"),
        pytest.param("GPU-c", [2], id="unique beginning"),
        pytest.param("GPU-c2,GPU-a", [2, 0], id="uuids"),
        pytest.param("GPU-a,GPU-g", [0], id="ambiguous beginning"),
        pytest.param("GPU-g7", [7], id="exact among alike"),
        pytest.param("GPU-zz,GPU-a", [], id="unknown uuid"),
        pytest.param("GPU-a0,0", [], id="twice, once by uuid"),
        pytest.param("GPU-b,3", [1, 3], id="mixed"),
        pytest.param("MIG-x1", [9], id="mig"),
        pytest.param("MIG-y,MIG-x0", [10, 8], id="migs"),
        pytest.param("٣", [], id="a digit that is not ASCII"),
    ],
)
def test_what_a_value_shows(value: str | None, expected: list[int]) -> None:
    assert positions(value) == expected


def test_an_index_never_names_a_mig_device() -> None:
    assert positions("7,8") == [7]


def test_it_says_what_was_named_by_uuid() -> None:
    assert [choice.by_uuid for choice in select("GPU-a,1", UUIDS)] == [True, False]


@given(st.permutations(range(8)), st.integers(0, 8))
def test_indices_and_uuids_show_what_they_name_in_their_order(order: list[int], n: int) -> None:
    wanted = order[:n]
    assert positions(",".join(map(str, wanted))) == wanted
    assert positions(",".join(UUIDS[i] for i in wanted)) == wanted


@given(st.text(alphabet="0123456789,-+ GPUMIabcg", max_size=30))
def test_any_value_shows_a_subset_without_repetition(value: str) -> None:
    shown = positions(value)
    assert len(set(shown)) == len(shown)
    assert set(shown) <= set(range(len(UUIDS) + len(MIGS)))


@given(st.lists(st.integers(0, 7), unique=True), st.text(alphabet="-xN ", min_size=1))
def test_what_follows_an_invalid_entry_does_not_matter(valid: list[int], junk: str) -> None:
    head = "".join(f"{i}," for i in valid)
    assert positions(f"{head}{junk},0,1,2") == valid


def test_the_callers_variables_are_filters_in_order() -> None:
    environ = {
        "HIP_VISIBLE_DEVICES": "1",
        "CUDA_VISIBLE_DEVICES": "0",
        "ROCR_VISIBLE_DEVICES": "2,3",
    }
    assert BACKENDS["rocm"].caller_filters(environ) == [
        ("ROCR_VISIBLE_DEVICES", "2,3"),
        ("HIP_VISIBLE_DEVICES", "1"),
    ]
    assert BACKENDS["cuda"].caller_filters(environ) == [("CUDA_VISIBLE_DEVICES", "0")]
    assert BACKENDS["cpu"].caller_filters(environ) == []


def test_the_plans_variable_is_the_innermost_that_is_read() -> None:
    for name, backend in BACKENDS.items():
        assert name == "cpu" or backend.caller_variables[-1][0] == backend.visibility_variable


def test_each_back_end_stands_under_its_name() -> None:
    assert [backend.name for backend in BACKENDS.values()] == list(BACKENDS)


def test_a_process_sees_the_devices_by_their_ids() -> None:
    devices = [Device(2, "2"), Device(3, "GPU-3")]
    assert BACKENDS["rocm"].visibility_value(devices) == "2,GPU-3"
    assert BACKENDS["rocm"].environment(devices) == {}
