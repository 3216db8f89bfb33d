from milabench_ddp.errors import did_you_mean


def test_the_nearest_word_is_suggested() -> None:
    assert (
        did_you_mean("resnet5", ["bert", "resnet50", "resnet152"]) == ": did you mean `resnet50`?"
    )


def test_nothing_is_suggested_where_no_word_is_near() -> None:
    assert did_you_mean("gpt", ["resnet50"]) == ""
    assert did_you_mean("gpt", []) == ""
