"""The price of a runner: one file, one entry of the dict that names it, and its kind."""

from tests.support.package_copy import PackageCopy
from tests.support.workplace import GOOD


def test_a_runner_is_a_file_and_two_lines(package_copy: PackageCopy) -> None:
    package_copy.add_file(
        "milabench_ddp/dispatch/runners/boxed.py",
        '''
        """Parts of this host, each in a box: here, an environment variable."""

        from ...events import Outcome
        from ...progress import ProgressObserver
        from ..agent import AgentOptions
        from .attached import LocalRunner, agent_command, agents, coordinate
        from ..run_context import RunContext


        class BoxedRunner(LocalRunner):
            """Starts each agent in its box."""

            def execute(self, context: RunContext, observer: ProgressObserver) -> Outcome:
                """Start the agents, and run to the end."""
                run, plan = context.run, context.plan
                commands = {}
                for rank in range(plan.nodes):
                    address = f"127.0.0.{rank + 1}"
                    agent = AgentOptions(run.path, rank, address, parts=plan.nodes)
                    commands[f"node{rank}"] = ["env", f"BOX={rank}", *agent_command(agent)]
                return coordinate(
                    context,
                    observer,
                    lambda requests: agents(run, plan, commands, requests, observer),
                )
        ''',
    )
    runners = "milabench_ddp/dispatch/runners/__init__.py"
    package_copy.add_line(runners, "from .base import", "from .boxed import BoxedRunner")
    package_copy.add_line(runners, '"local": LocalRunner(),', '    "boxed": BoxedRunner(),')
    kinds = "milabench_ddp/config/runner_profile.py"
    package_copy.replace(kinds, 'KINDS = ("local", ', 'KINDS = ("boxed", "local", ')
    assert len(package_copy.touched) == 3
    package_copy.write("boxed.yaml", "kind: boxed\n")
    package_copy.write("p.py", GOOD + "\nprint('box', os.environ['BOX'])\n")
    settings = "{program: p.py, plan: {method: per_gpu}, num_machines: 2, weight: 1}"
    package_copy.write("suite.yaml", f"b: {settings}\n")
    options = ("--runner", "boxed.yaml", "--nodes", "2", "--device", "cpu", "--gpus", "1")
    done = package_copy.milabench("run", "suite.yaml", *options, "--name", "mine")
    assert done.code == 0, done.err
    for rank in range(2):
        assert f"box {rank}" in (package_copy.run() / f"b.D{rank}.node{rank}.stdout").read_text()
