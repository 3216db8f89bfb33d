import pytest
from msgspec.structs import replace

from milabench_ddp.config.select import check_tags
from milabench_ddp.errors import ConfigError
from milabench_ddp.plan.planner import plan_launches
from tests.support.launches import SITE, benchmark, cluster, njobs


@pytest.mark.parametrize(
    ("beside", "is_taken"),
    [
        ("b.0", True), ("b.1", True), ("B.0.D0", True), ("b.D1", True), ("b.R0", True),
        ("b.r12.x", True), ("b.2", False), ("b.0x", False), ("b.00", False), ("b.v2", False),
        ("b-0.1", False), ("b.R", False), ("bb.0", False),
    ],
)  # fmt: skip
def test_no_tag_of_a_process_is_the_name_of_another_benchmark(beside: str, is_taken: bool) -> None:
    """On one node and several, with and without torchrun, once and repeated."""
    one, other = benchmark("b", plan=njobs(2)), benchmark(beside)
    if is_taken:
        with pytest.raises(ConfigError, match=f"^`{beside}` cannot name a benchmark beside `b`, "):
            check_tags([other, one])
        return
    check_tags([other, one])
    for site in (SITE, replace(SITE, launcher="tasks")):
        for nodes in (1, 2):
            for repeats in (1, 13):
                launches = plan_launches(one, cluster(2, nodes), site, repeats)
                tags = [process.name for launch in launches for process in launch.processes]
                assert not [tag for tag in tags if f"{tag}.".startswith(f"{beside}.")]


def test_numbers_behind_a_name_are_those_of_jobs_alone() -> None:
    """As a sweep over 0 and 0.1 has them."""
    check_tags([benchmark("lr-0"), benchmark("lr-0.1"), benchmark("lr-0.0")])
    check_tags([benchmark("lr-0", plan=njobs(1)), benchmark("lr-0.1")])
