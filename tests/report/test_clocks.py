"""What held clocks down, in samples that are known."""

import pytest

from milabench_ddp.report.clocks import clock_causes


@pytest.mark.parametrize(
    ("reasons", "words"),
    [
        ((), []),
        (("gpu_idle",), []),
        (("sw_power_cap",), ["power"]),
        (("hw_slowdown",), ["hardware"]),
        (("hw_slowdown", "hw_thermal_slowdown"), ["heat"]),
        (("hw_slowdown", "hw_power_brake_slowdown"), ["power brake"]),
        (("sw_thermal_slowdown", "sw_power_cap"), ["heat", "power"]),
        (("applications_clocks_setting",), ["setting"]),
        (("sync_boost",), ["setting"]),
        (("what_a_later_driver_names",), []),
    ],
)
def test_the_causes_behind_the_reasons(reasons: tuple[str, ...], words: list[str]) -> None:
    assert [cause.word for cause in clock_causes(reasons)] == words
