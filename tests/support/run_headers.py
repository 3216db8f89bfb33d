"""The header of a run, as ``run.json`` has it."""

from milabench_ddp.results.state import RunHeader


def header(*benchmarks: str, name: str = "mine") -> RunHeader:
    """The header of a run with these benchmarks, each with a time limit of one minute."""
    suite = {benchmark: {"max_duration": 60.0} for benchmark in benchmarks}
    return RunHeader(name, "1.0", 1.0, ["milabench", "run"], "none", "c.yaml", {}, suite)
