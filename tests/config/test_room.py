from milabench_ddp.config.room import size
from milabench_ddp.config.tree import DEFAULT, from_plain


def test_the_size_of_a_tree() -> None:
    tree = from_plain({"a": [1, 2], "b": {"c": 3}}, DEFAULT)
    assert size(tree, 100) == 6
    assert size(tree, 4) == 4
