"""The price of a plan method: one file, one entry of the dict that names it, and its options."""

from tests.support.package_copy import PackageCopy
from tests.support.workplace import EMIT

EVERY = '''
    """A plan method that leaves devices out."""

    from .command_line import plain


    def every_nth(context):
        """One independent process on every n-th device."""
        argv = plain(context.benchmark, context.site)
        for device in context.node.devices[:: context.benchmark.plan.options["n"]]:
            yield context.process((f"D{device.index}",), argv, [device])
'''
SUITE = "one: {program: main.py, plan: {method: every_nth, n: 2}, max_duration: 60}"


def test_a_plan_method_is_one_file_and_two_entries(package_copy: PackageCopy) -> None:
    methods, schema = "milabench_ddp/plan/methods.py", "milabench_ddp/config/schema.py"
    package_copy.add_file("milabench_ddp/plan/every_nth.py", EVERY)
    package_copy.add_line(
        methods, after="from .command_line", line="from .every_nth import every_nth"
    )
    package_copy.add_line(methods, after='"njobs": njobs,', line='    "every_nth": every_nth,')
    options = '    "every_nth": {"n": 1},'
    package_copy.add_line(schema, after='"njobs": {', line=options)
    assert len(package_copy.touched) == 3

    package_copy.write("main.py", EMIT + "for step in range(20): rate(100.0)\n")
    config = str(package_copy.write("suite.yaml", SUITE))
    on_cpu = ("--device", "cpu", "--gpus", "3")
    assert "every_nth 2" in package_copy.milabench("list", config, *on_cpu).out
    assert package_copy.milabench("dry", config, *on_cpu).out.count("main.py & pids") == 2
    done = package_copy.milabench("run", config, *on_cpu, "--name", "mine")
    assert done.code == 0, done.err
    assert sorted(path.name for path in package_copy.run().glob("*.data")) == [
        "one.D0.data",
        "one.D2.data",
    ]
