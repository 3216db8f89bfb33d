import pytest

from milabench_ddp.config.sizing import Memory
from milabench_ddp.config.tree import DEFAULT, ScalarNode, from_plain
from milabench_ddp.config.validate import checked
from milabench_ddp.errors import ConfigError


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("3885 MiB", 3885),
        ("8614.75 MiB", 8614.75),
        ("80 GiB", 81920),
        ("80GiB", 81920),
        ("1 tib", 2**20),
        ("4Go", 4e9 / 2**20),
        ("4 Gio", 4096),
        ("512", 512),
        (512, 512),
        (0.5, 0.5),
        ("1048576 B", 1),
    ],
)
def test_amounts(written: str | float, expected: float) -> None:
    assert checked(Memory, "x", ScalarNode(written, DEFAULT)) == pytest.approx(expected)


@pytest.mark.parametrize("written", ["", "much", "3 parsecs", "-1 MiB", True, None, ["1 MiB"]])
def test_no_amounts(written: object) -> None:
    with pytest.raises(
        ConfigError, match=r"^wrong value for `x` in \(default\): expected an amount of memory such"
    ):
        checked(Memory, "x", from_plain(written, DEFAULT))
