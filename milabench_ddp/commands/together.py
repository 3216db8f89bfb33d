"""Nodes that this process leads itself: parts of this machine, or hosts over ssh."""

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from ..config.runner_profile import profile_of
from ..config.system import SystemNode
from ..dispatch import local, ssh
from ..dispatch.leader import Leader
from ..events import Outcome
from ..launch.stop_requests import StopRequests, stopped_by_signals
from ..results.run_dir import alive
from . import begin
from .begin import Begun
from .watching import onlooker


def measure(begun: Begun, *, quiet: bool) -> Outcome:
    """Start the agents, lead them through what is to be run, and see them off."""
    rundir, state, plan = begun.rundir, begun.state, begun.plan
    inbox = StopRequests()
    with alive(rundir.path), stopped_by_signals(inbox), ExitStack() as stack:
        state.save(rundir.run_json)
        begin.reopen(begun)
        seen = stack.enter_context(onlooker(len(begun.points), quiet=quiet))
        leader = Leader(rundir, plan, begun.points, plan.nodes, inbox, seen)
        agents = local.started(rundir, _commands(begun), plan.grace)
        for name, channel in stack.enter_context(agents).items():
            leader.invite(name, channel)
        outcome = leader.run()
        state.outcome = outcome if inbox.stops else begin.overall_on_disk(begun)
        state.ended = time.time()
        state.save(rundir.run_json)
    return state.outcome


def _commands(begun: Begun) -> Mapping[str, Sequence[str]]:
    plan, runner = begun.plan, profile_of(begun.plan.runner)
    if runner.kind != "ssh":
        return local.parts(begun.rundir, plan.nodes)
    hosts = [SystemNode(**each) for each in plan.runner["hosts"]]
    key = plan.runner["sshkey"]
    return ssh.commands(
        begun.rundir,
        hosts[: plan.nodes],
        None if key is None else Path(key),
        runner.setup,
        runner.environment,
    )
