import pytest

from benchmarks.common.names import plain


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("blocks.0.up.weight", "blocks.0.up.weight"),
        ("module.blocks.0.up.weight", "blocks.0.up.weight"),
        ("_stage1.blocks.0._checkpoint_wrapped_module.up.weight", "blocks.0.up.weight"),
        ("_orig_mod.module.modules.weight", "modules.weight"),
    ],
)
def test_wrappers_are_not_in_the_name(name, expected):
    assert plain(name) == expected
