from milabench_ddp.grouping import grouped


def test_keys_and_values_keep_their_order():
    found = grouped([("b", 2), ("a", 1), ("b", 1), ("a", 3)])
    assert list(found.items()) == [("b", [2, 1]), ("a", [1, 3])]


def test_nothing():
    assert dict(grouped([])) == {}
