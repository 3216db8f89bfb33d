import os
import signal
import threading

import pytest

from milabench_ddp.dispatch.agent_plants import plant
from milabench_ddp.hazards import PLANT
from tests.support.launches import benchmark


def changed(text: str, names: tuple[str, ...] = ("2", "node3")) -> dict[str, str]:
    environ: dict[str, str] = {}
    planted = benchmark("b", env={PLANT: text})
    plant([benchmark("a"), planted, planted], names, environ)
    return environ


@pytest.mark.parametrize("where", ["2", "node3"])
def test_a_variable_is_set_on_its_node(where):
    text = f"slow:0.1@2,env:NCCL_DEBUG=INFO@{where},env:X=a=b:c@{where}"
    assert changed(text) == {"NCCL_DEBUG": "INFO", "X": "a=b:c"}


@pytest.mark.parametrize("where", ["@3", "@node", "@", ""])
def test_and_on_no_other(where):
    assert changed(f"env:NCCL_DEBUG=INFO{where}") == {}


def test_without_plants_nothing_is_changed():
    environ: dict[str, str] = {}
    plant([benchmark("a")], ("",), environ)
    assert environ == {}


def test_an_agent_ends_after_its_seconds(monkeypatch):
    begun = []

    class Timer(threading.Timer):
        def start(self):
            begun.append((self.interval, self.function, self.args))

    monkeypatch.setattr(threading, "Timer", Timer)
    changed("kill:1.5@node3,kill:1@node4")
    assert begun == [(1.5, os.kill, (os.getpid(), signal.SIGKILL))]
