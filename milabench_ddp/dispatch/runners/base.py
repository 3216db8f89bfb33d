"""The base of the runners: where a run happens, and how it is started there."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ...config.runner_profile import RunnerProfile
from ...config.schema import Benchmark
from ...errors import DispatchError
from ...events import Outcome
from ...machine.devices import Cluster
from ...machine.host import cpu_count
from ...plan.bash import render, within
from ...plan.launch import Launch
from ...progress import ProgressObserver
from ..node_request import NodeRequest, synthetic_nodes
from ..run_context import RunContext, RunPlan


class ScriptRequest(Struct, frozen=True):
    """The launches of a script, and where they run."""

    profile: RunnerProfile | None
    launches: Sequence[Launch]
    nodes: int
    python: str  # the Python that finds free ports
    comments: Sequence[str]  # at its top


ObservedRun = tuple[RunContext, ProgressObserver]  # and who is told of it


class Runner(ABC):
    """Base of every runner; its methods suit nodes that this host cannot detect."""

    count_options = "--gpus N, or `gpu: {count: N}` in the system file"  # state a node's devices

    def cluster(self, request: NodeRequest) -> Cluster:
        """The nodes to plan for."""
        if request.devices is None and not self.uses_this_host(request):
            raise DispatchError(
                "the number of GPUs of a node is not known, and this host is not one of the nodes: "
                f"give {self.count_options}; or give CPU slots, with `--device cpu --gpus N`"
            )
        if request.cpus is None and self.uses_this_host(request):
            request = replace(request, cpus=cpu_count())
        return synthetic_nodes(request)

    def node_cpus(self, profile: RunnerProfile) -> int | None:
        """The CPUs of a node that a job may use; None if that is not known before it runs."""
        return profile.cpus_per_task

    def uses_this_host(self, request: NodeRequest) -> bool:
        """Whether this host is one of the nodes, so that its devices say what the nodes have."""
        del request
        return False

    def check(self, request: NodeRequest) -> None:  # noqa: B027  (most runners need no check)
        """Raise DispatchError if a run cannot be started on these nodes."""

    def without_absent(self, profile: RunnerProfile) -> tuple[RunnerProfile, Mapping[str, str]]:
        """The profile without the nodes that it names and that cannot come; and why, by node."""
        return profile, {}

    def script(self, request: ScriptRequest) -> str:
        script = render(request.launches, request.python, request.comments)
        prefix = request.profile.command_prefix if request.profile else ()
        return within(prefix, script)

    def preflight(
        self, plan: RunPlan, benchmarks: Sequence[Benchmark], cluster: Cluster
    ) -> tuple[str, ...]:
        """Check the GPUs of this host if all happens on it; returns warnings, a sentence each."""
        del plan, benchmarks, cluster
        return ()  # the agents check theirs

    @abstractmethod
    def execute(self, *runs: ObservedRun) -> list[Outcome]:
        """Run the benchmarks that have no final result; of several runs, launches take turns."""
