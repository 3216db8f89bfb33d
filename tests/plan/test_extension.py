"""The price of a plan method: a function and its line in one file, and its options."""

from tests.support.package_copy import PackageCopy
from tests.support.workplace import EMIT

EVERY = '''

def every_nth(context):
    """One independent process on every n-th device."""
    argv = plain(context.benchmark, context.site)
    for device in context.node.devices[:: context.benchmark.plan.options["n"]]:
        yield context.process((f"D{device.index}",), argv, [device])
'''
SUITE = "one: {program: main.py, plan: {method: every_nth, n: 2}, max_duration: 60}"


def test_a_plan_method_is_a_function_and_its_options(package_copy: PackageCopy) -> None:
    methods, schema = "milabench_ddp/plan/methods.py", "milabench_ddp/config/schema.py"
    package_copy.add_line(methods, after="    return dict(items)", line=EVERY)
    package_copy.add_line(methods, after='"njobs": njobs,', line='    "every_nth": every_nth,')
    options = '    "every_nth": {"n": 1},'
    package_copy.add_line(schema, after='"njobs": {', line=options)
    assert package_copy.touched == {methods, schema}

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
