"""Slurm's commands are scripts of the test."""

from collections.abc import Callable
from pathlib import Path

import pytest

from milabench_ddp.dispatch.slurm_queue import field, job_record, output_of


def test_what_a_command_prints(says: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = says("scontrol", "JobId=7 NodeList=n[1-2] ReqNodeList=(null)")
    record = job_record("7")
    assert (field(record, "NodeList"), field(record, "Node")) == ("n[1-2]", "")
    assert asked.read_text() == "--oneliner show job 7\n"
    says("scontrol", "slurm_load_jobs error", 1)
    assert job_record("7") == ""
    monkeypatch.setenv("PATH", "/nowhere")
    assert output_of("scontrol") is None
