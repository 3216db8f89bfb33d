from milabench_ddp.config.runner_profile import KINDS, RunnerProfile
from milabench_ddp.dispatch.runners import runner_of
from milabench_ddp.dispatch.runners.attached import HostRunner


def test_each_kind_has_a_runner() -> None:
    for kind in KINDS:
        made = runner_of(RunnerProfile(kind=kind))
        assert type(made).__name__ == f"{kind.capitalize()}Runner"


def test_without_a_profile_it_is_this_host() -> None:
    assert isinstance(runner_of(None), HostRunner)
