"""What a runner is: where a run happens, and how it is started there."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...config.runner_profile import RunnerProfile
from ...config.system import SystemNode
from ...events import Outcome
from ...machine.detect import Detection, detect, synthetic_cluster
from ...machine.devices import Cluster
from ...plan.bash import render
from ...plan.launch import Launch
from ...progress import ProgressObserver
from ..run_context import RunContext


@dataclass(frozen=True)
class NodeRequest:
    """The nodes that are asked for; None leaves the choice to what is there."""

    nodes: int
    devices: int | None  # per node
    kind: str | None  # of device
    hosts: tuple[SystemNode, ...] = ()  # of the system file

    def detect(self) -> Detection:
        """This host with such devices; raises MachineError where it lacks them."""
        return detect(self.kind, self.devices, os.environ)


@dataclass(frozen=True)
class ScriptRequest:
    """What a script is to start, and where."""

    profile: RunnerProfile | None
    launches: Sequence[Launch]
    nodes: int
    python: str  # looks for free ports
    comments: Sequence[str]  # at its top


class Runner:
    """Base of every runner; as it stands, for nodes elsewhere that this host knows nothing of."""

    is_scheduler = False  # whether settings for a cluster's scheduler have a meaning

    def cluster(self, request: NodeRequest) -> tuple[Cluster, bool]:
        """The nodes to plan for, and whether they are synthetic.

        Raises:
            MachineError: this host is needed, and lacks the devices.
            DispatchError: there are not so many nodes.
        """
        devices = request.devices
        if devices is None:
            devices = len(request.detect().cluster.nodes[0].devices)
        return synthetic_cluster(request.kind or "cuda", request.nodes, devices), True

    def check(self, request: NodeRequest) -> None:
        """Raise DispatchError where a run cannot be started on such nodes."""

    def profile(self, profile: RunnerProfile, cluster: Cluster) -> RunnerProfile:
        """The profile; where it does not say it, a job asks for the GPUs that are to be used."""
        if profile.gpus_per_node is not None or not cluster.has_gpu:
            return profile
        return replace(profile, gpus_per_node=len(cluster.nodes[0].devices))

    def script(self, request: ScriptRequest) -> str:
        """The bash that does the same."""
        return render(request.launches, request.python, request.comments)

    def execute(self, context: RunContext, observer: ProgressObserver) -> Outcome:
        """Run what is missing of a run; the observer is told what happens.

        Raises:
            DispatchError: it cannot be started there.
        """
        raise NotImplementedError
