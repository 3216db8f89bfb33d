from milabench_ddp.errors import did_you_mean, shown_names


def test_the_nearest_word_is_suggested() -> None:
    assert (
        did_you_mean("resnet5", ["bert", "resnet50", "resnet152"]) == ": did you mean `resnet50`?"
    )


def test_nothing_is_suggested_where_no_word_is_near() -> None:
    assert did_you_mean("gpt", ["resnet50"]) == ""
    assert did_you_mean("gpt", []) == ""


def test_many_names_are_cut() -> None:
    assert shown_names(["a", "b"]) == "a, b"
    assert shown_names([f"n{k}" for k in range(20)]).endswith("n7 and 12 more")
    assert shown_names(["a", "b", "c"], 2) == "a, b and 1 more"
    assert shown_names([]) == ""
