"""A benchmark is written into a run's plan and read back by other hosts: nothing may be lost."""

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from milabench_ddp.codec import decode, encode
from milabench_ddp.config.schema import Benchmark, FakeImageNet, PlanSpec

words = st.text(max_size=5)
paths = st.text("ab./", min_size=1, max_size=5).map(Path)
json: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)
seconds = st.floats(0, 1e6)
images = st.builds(FakeImageNet, *[st.integers(0, 2**31)] * 5, words)

benchmarks = st.builds(
    Benchmark,
    name=words,
    program=paths,
    plan=st.builds(PlanSpec, words, st.dictionaries(words, st.integers(1, 64))),
    argv=st.lists(words).map(tuple),
    env=st.dictionaries(words, words),
    group=words,
    install_group=words,
    tags=st.frozensets(words),
    max_duration=seconds,
    weight=seconds,
    num_machines=st.none() | st.integers(1, 100),
    preset=st.none() | words,
    voir=st.none() | st.dictionaries(words, json),
    voirfile=st.none() | paths,
    record=st.dictionaries(words, json),
    data=st.none() | images,
    scaling=st.sampled_from(["weak", "strong"]),
)


@given(benchmarks)
def test_a_benchmark_comes_back_from_json(benchmark: Benchmark) -> None:
    assert decode(encode(benchmark), Benchmark) == benchmark
