import pytest

from milabench_ddp.config.conditions import evaluate
from milabench_ddp.config.tree import Origin
from milabench_ddp.errors import ConfigError
from tests.support.configuration import facts

ORIGIN = Origin("x.yaml")
MACHINE = facts(node_count=2, gpu_count=4, gpu_capacity_mib=81920.0, gpu_capability=9.0)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("gpu['count'] > 1", True),
        ("gpu['capability'] >= 8.9", True),
        ("gpu['capability'] >= 10", False),
        ('gpu["count"] >= 8', False),
        ("len(nodes) >= 2", True),
        ("len(nodes) == 3", False),
        ("1 < len(nodes) <= 2", True),
        ("1 < len(nodes) < 2", False),
        ("gpu['capacity'] > 80e3 and cpu['count'] >= 16", True),
        ("arch == 'rocm' or arch == 'cuda'", True),
        ("not (arch != 'cpu')", False),
        ("gpu['name'] == 'GPU 3000'", True),
        ("True", True),
        (" len(nodes) >= 2\n", True),
        ("len(nodes) == 2and 1 < 2", True),  # Python warns of it
    ],
)
def test_conditions(condition: str, holds: bool) -> None:
    assert evaluate(condition, MACHINE, ORIGIN).holds is holds


def test_the_values_that_decided_are_told() -> None:
    result = evaluate("gpu['count'] > 8 and len(nodes) > 1", MACHINE, ORIGIN)
    assert result.values == {"gpu['count']": 4}
    result = evaluate("len(nodes) > 1 and gpu['count'] > 8", MACHINE, ORIGIN)
    assert result.values == {"len(nodes)": 2, "gpu['count']": 4}


HINT = "is not a known term; examples of conditions: `len(nodes) >= 2`, `ranks > 1`"


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("len(nodes) >=", "it is malformed"),
        ("", "it is malformed"),
        ("len(nodes)\0", "it is malformed"),
        ("len(nodes)", "`len(nodes)` is neither true nor false"),
        ("1 and True", "`1` is neither true nor false"),
        ("gpus['count'] > 1", "`gpus['count']` is not a known term: did you mean `gpu['count']`?"),
        ("gpu['coun'] > 1", "`gpu['coun']` is not a known term: did you mean `gpu['count']`?"),
        (
            "nodes['count'] > 1",
            "`nodes['count']` is not a known term: did you mean `gpu['count']`?",
        ),
        ("len(gpu) > 1", f"`len(gpu)` {HINT}"),
        ("arch > 1", "`arch > 1` compares values that cannot be compared"),
        ("1 in nodes", "`nodes` is not a known term: did you mean `len(nodes)`?"),
        ("arch in 'cuda'", "`arch in 'cuda'` compares values that cannot be compared"),
        ("__import__('os').system('true')", f"`__import__('os').system('true')` {HINT}"),
        ("open('x')", f"`open('x')` {HINT}"),
        ("(lambda: True)()", f"`(lambda: True)()` {HINT}"),
        (
            "gpu['count'].__class__ == 1",
            "`gpu['count'].__class__` is not a known term: did you mean `gpu['count']`?",
        ),
        ("[x for x in nodes] == 1", f"`[x for x in nodes]` {HINT}"),
        ("9**9**9 > 1", f"`9 ** 9 ** 9` {HINT}"),
        (
            "len(nodes, nodes) > 1",
            "`len(nodes, nodes)` is not a known term: did you mean `len(nodes)`?",
        ),
    ],
)
def test_outside_the_grammar(condition: str, reason: str) -> None:
    with pytest.raises(ConfigError) as error:
        evaluate(condition, MACHINE, ORIGIN)
    assert str(error.value) == f"the condition `{condition}` in x.yaml: {reason}"


@pytest.mark.parametrize(
    ("arch", "library"), [("cuda", "nccl"), ("rocm", "rccl"), ("hpu", "hccl"), ("cpu", "gloo")]
)
def test_each_architecture_has_its_communication_library(arch: str, library: str) -> None:
    assert facts(arch=arch).ccl == library


@pytest.mark.parametrize(("cpus", "gpus", "share"), [(16, 2, 8), (15, 2, 7), (1, 8, 1), (4, 0, 4)])
def test_the_cpus_of_a_device(cpus: int, gpus: int, share: int) -> None:
    assert facts(cpu_count=cpus, gpu_count=gpus).cpu_per_gpu == share
