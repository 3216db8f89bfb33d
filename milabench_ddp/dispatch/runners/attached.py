"""Runs that end with their command, and the runner of those on this host alone."""

import os
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager

from ...config.schema import Benchmark
from ...events import Outcome
from ...launch.stop_requests import StopRequests, stopped_by_signals
from ...machine.devices import Cluster
from ...machine.provenance import meta
from ...progress import ProgressObserver
from ...results.node_state import NodeState, NodeStatus
from ..coordinator import Coordinator
from ..gpu_preflight import check_gpus
from ..node_records import NodeRecords
from ..node_request import NodeRequest
from ..nodes import Nodes
from ..run_context import RunContext, RunPlan
from ..this_host import ThisHost, launch_runner, own_node
from .base import ObservedRun, Runner


@contextmanager
def this_host(
    context: RunContext, requests: StopRequests, observer: ProgressObserver
) -> Iterator[Nodes]:
    plan, about = context.plan, meta(context.header.machine)
    node, _ = own_node(plan)
    _note_warnings(context, node.name, observer)
    with launch_runner(context.run, plan, node, about, os.environ) as runner:
        yield ThisHost(node, runner, requests, observer.event)


def _note_warnings(context: RunContext, node: str, observer: ProgressObserver) -> None:
    if context.warnings:
        records = NodeRecords(context.run, [node], observer)
        records.change(node, NodeState(node, NodeStatus.JOINED, warnings=context.warnings))
        records.tell()


class AttachedRunner(Runner):
    """Base of the runners whose run ends with the command that starts it."""

    @abstractmethod
    def nodes(
        self, context: RunContext, requests: StopRequests, observer: ProgressObserver
    ) -> AbstractContextManager[Nodes]:
        """The nodes of the run; ``requests`` can stop it."""

    def execute(self, *runs: ObservedRun) -> list[Outcome]:
        sides: list[Coordinator] = []
        with closing(StopRequests()) as requests, stopped_by_signals(requests):
            for context, _ in runs:
                context.save()
                context.reset()
            with self.nodes(runs[0][0], requests, runs[0][1]) as nodes:
                for context, observer in runs:
                    run, plan, benchmarks = context.run, context.plan, context.benchmarks
                    if isinstance(nodes, ThisHost) and sides:
                        nodes = nodes.beside(run, observer.event)
                        _note_warnings(context, nodes[0].name, observer)
                    sides.append(Coordinator(run, plan, benchmarks, nodes, requests, observer))
                sides[0].execute(*sides[1:])
            outcomes = []
            for (context, _), side in zip(runs, sides, strict=True):
                context.header.unwritten = side.unwritten
                outcomes.append(context.finish(side.outcome))
            return outcomes


class HostRunner(AttachedRunner):
    """Runs on this host, without an agent."""

    def cluster(self, request: NodeRequest) -> Cluster:
        return request.detect()

    def preflight(
        self, plan: RunPlan, benchmarks: Sequence[Benchmark], cluster: Cluster
    ) -> tuple[str, ...]:
        return check_gpus(plan, benchmarks, cluster.nodes[0], os.environ)

    def nodes(
        self, context: RunContext, requests: StopRequests, observer: ProgressObserver
    ) -> AbstractContextManager[Nodes]:
        return this_host(context, requests, observer)
