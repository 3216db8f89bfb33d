import pytest

from milabench_ddp.config.runner_profile import RunnerProfile
from milabench_ddp.dispatch import node_request
from milabench_ddp.dispatch.node_request import NodeRequest, synthetic_nodes
from milabench_ddp.dispatch.runners.base import ObservedRun, Runner, ScriptRequest
from milabench_ddp.errors import DispatchError
from milabench_ddp.events import Outcome
from milabench_ddp.machine.backends import BACKENDS
from milabench_ddp.plan.planner import plan_launches
from tests.support.launches import SITE, benchmark, cluster

PROFILE = RunnerProfile(kind="slurm")


class Elsewhere(Runner):
    def execute(self, *runs: ObservedRun) -> list[Outcome]:
        return [Outcome.OK for _ in runs]


def test_nodes_elsewhere_are_synthetic() -> None:
    found = Elsewhere().cluster(NodeRequest(3, 8, None))
    assert (found.arch, len(found.nodes), len(found.nodes[2].devices)) == ("cuda", 3, 8)
    assert found.is_synthetic


@pytest.mark.parametrize("kind", [None, "cpu", "cuda"])
def test_the_devices_of_this_host_say_nothing_of_them(
    kind: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def looked(*_: object) -> None:
        raise AssertionError("this host was looked at")

    monkeypatch.setattr(node_request, "detect", looked)
    with pytest.raises(DispatchError, match=r"give --gpus N, or .* or give CPU slots"):
        Elsewhere().cluster(NodeRequest(2, None, kind))
    assert len(Elsewhere().cluster(NodeRequest(2, 4, kind)).nodes[1].devices) == 4


def test_a_synthetic_node_is_like_this_host_in_kind_and_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(BACKENDS["cuda"], "may_be_present", lambda: False)
    here = NodeRequest(1, None, None).detect()
    found = synthetic_nodes(NodeRequest(2, None, None))
    assert (found.arch, len(found.nodes)) == (here.arch, 2)
    assert len(found.nodes[1].devices) == len(here.nodes[0].devices)


def test_the_script_is_bash() -> None:
    launches = plan_launches(benchmark(), cluster(), SITE)
    text = Elsewhere().script(ScriptRequest(None, launches, 1, SITE.python, ["made by a test"]))
    assert text.startswith("#!/usr/bin/env bash\n# made by a test\n")


def test_a_runner_must_say_how_it_runs() -> None:
    with pytest.raises(TypeError, match=r"abstract method '?execute"):
        Runner()  # type: ignore[abstract]
