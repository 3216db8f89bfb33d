"""A few inputs of each target; ``python -m tests.fuzz`` tries more. Each law is shown to bite."""

import operator
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import Phase

from milabench_ddp.results import read
from milabench_ddp.results.records import Record
from tests.fuzz.engine import play_round
from tests.fuzz.targets import TARGETS

FEW = 30  # of a round, one is tried


@pytest.mark.parametrize("name", TARGETS)
def test_a_few_inputs(name: str) -> None:
    target = TARGETS[name]
    checked, finding = play_round(target, 0, set(), examples=max(3, target.examples // FEW))
    assert finding is None, finding
    assert checked


def _fails(*_: object, **__: object) -> Any:
    raise KeyError("planted")


def _bare(text: str) -> str:
    return f"'{text}'"


# By target: what is broken, and by what.
PLANTED: dict[str, tuple[str, Callable[..., Any]]] = {
    "configuration": ("milabench_ddp.commands.setup.load", _fails),
    "condition": ("operator.le", operator.lt),
    "placeholder": ("milabench_ddp.config.placeholders.scalar_text", str),
    "filled tree": ("milabench_ddp.config.placeholders.fill_scalar", _fails),
    "metric lines": ("milabench_ddp.results.read_run.read_events", Record),
    "many lines": ("milabench_ddp.results.read.objects_in", lambda *_: [read._Line("stop")]),
    "run folder": ("milabench_ddp.report.assemble.read_run", _fails),
    "bash": ("shlex.quote", _bare),
    "sbatch": ("shlex.quote", _bare),
    "agent message": ("milabench_ddp.dispatch.transport.Connection.receive", lambda _: []),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, broken = PLANTED[name]
    if name == "condition":
        from milabench_ddp.config import conditions

        table = dict.fromkeys(conditions._COMPARE, operator.ge)
        monkeypatch.setattr(conditions, "_COMPARE", table)
    else:
        monkeypatch.setattr(place, broken)
    found = [
        play_round(TARGETS[name], seed, set(), 20, phases=[Phase.generate])[1] for seed in range(3)
    ]
    assert any(found)


def test_every_target_has_a_planted_fault() -> None:
    assert PLANTED.keys() == TARGETS.keys()
