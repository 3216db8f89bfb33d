"""A new runner costs one file, and its kind."""

from tests.support.package_copy import PackageCopy
from tests.support.workplace import GOOD


def test_a_runner_is_a_file_and_a_kind(package_copy: PackageCopy) -> None:
    package_copy.add_file(
        "milabench_ddp/dispatch/runners/boxed.py",
        '''
        """Parts of this host, each in a box: here, an environment variable."""

        from collections.abc import Mapping
        from msgspec.structs import replace

        from ..run_context import RunContext
        from .agents import AgentCommand
        from .local import LocalRunner


        class BoxedRunner(LocalRunner):
            """Starts each agent in its box."""

            def commands(self, context: RunContext) -> Mapping[str, AgentCommand]:
                """An agent for each part of this host, in its box."""
                boxed = {}
                for rank, (node, command) in enumerate(super().commands(context).items()):
                    shell = ("env", f"BOX={rank}", *command.shell)
                    boxed[node] = replace(command, shell=shell)
                return boxed
        ''',
    )
    kinds = "milabench_ddp/config/runner_profile.py"
    package_copy.replace(kinds, 'Kind = Literal["local", ', 'Kind = Literal["boxed", "local", ')
    assert len(package_copy.touched) == 2
    package_copy.write("boxed.yaml", "kind: boxed\n")
    package_copy.write("p.py", GOOD + "\nprint('box', os.environ['BOX'])\n")
    settings = "{program: p.py, plan: {method: per_gpu}, num_machines: 2, weight: 1}"
    package_copy.write("suite.yaml", f"b: {settings}\n")
    options = ("--runner", "boxed.yaml", "--nodes", "2", "--device", "cpu", "--gpus", "1")
    done = package_copy.milabench("run", "suite.yaml", *options, "--name", "mine")
    assert done.code == 0, done.err
    for rank in range(2):
        assert f"box {rank}" in (package_copy.run() / f"b.D{rank}.node{rank}.data").read_text()
