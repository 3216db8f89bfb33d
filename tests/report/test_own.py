import pytest

from milabench_ddp.report.own import own_parts

PARTS = {"forward": 1, "backward": 1, "optimizer": 1, "data": 1}


@pytest.mark.parametrize(
    ("mode", "own"),
    [
        ("ddp", ("forward", "optimizer", "data")),
        ("fsdp", ("optimizer", "data")),
        ("hsdp", ("optimizer", "data")),
        ("tp", ("optimizer", "data")),
        ("tp-fsdp", ("optimizer", "data")),
        ("pipeline", ()),
        ("pdp", ()),
        (None, ()),
        ([], ()),
    ],
)
def test_the_parts_that_no_other_rank_makes_longer(mode: object, own: tuple[str, ...]) -> None:
    assert own_parts(mode, PARTS) == own


def test_only_what_was_measured() -> None:
    assert own_parts("ddp", {"forward_backward": 1, "optimizer": 1}) == ("optimizer",)
