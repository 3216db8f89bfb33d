"""Nodes that this process leads itself: parts of this machine, or hosts over ssh."""

import sys
import time
from contextlib import ExitStack

from ..config.runner import runner_of
from ..dispatch import local
from ..dispatch.leader import Leader
from ..dispatch.onlooker import Onlooker, PlainOnlooker, QuietOnlooker
from ..events import Outcome
from ..launch.inbox import Inbox, stopped_by_signals
from ..results.alive import alive
from .begin import Begun


def measure(begun: Begun, *, quiet: bool) -> Outcome:
    """Start the agents, lead them through what is to be run, and see them off."""
    rundir, state, plan = begun.rundir, begun.state, begun.plan
    inbox = Inbox()
    onlooker: Onlooker = QuietOnlooker() if quiet else PlainOnlooker(sys.stderr)
    with alive(rundir.path), stopped_by_signals(inbox), ExitStack() as stack:
        state.save(rundir.run_json)
        leader = Leader(rundir, plan, begun.points, plan.nodes, inbox, onlooker)
        if runner_of(plan.runner).kind == "ssh":
            raise NotImplementedError
        for channel in stack.enter_context(local.agents(rundir.path, plan.nodes, plan.grace)):
            leader.welcome(channel)
        state.outcome = leader.run()
        state.ended = time.time()
        state.save(rundir.run_json)
    return state.outcome
