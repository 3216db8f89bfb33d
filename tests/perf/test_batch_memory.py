"""The memory in config/_scaling.yaml is that which the script finds."""

import importlib.util

import pytest
import torch

from milabench_ddp.config.sizing import read_scaling
from tests.support.programs import BENCHMARKS

ROOT = BENCHMARKS.parent
PATCHED = (
    (torch.cuda, "is_bf16_supported"),
    (torch.cuda.amp.common, "amp_definitely_not_available"),
    (torch.nn.functional, "scaled_dot_product_attention"),
)


def script():
    path = ROOT / "perf" / "batch_memory.py"
    spec = importlib.util.spec_from_file_location("batch_memory", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_file_is_up_to_date(tmp_path, monkeypatch, capsys):
    transformers = pytest.importorskip("transformers")
    for owner, name in (*PATCHED, (transformers.PreTrainedModel, "init_weights")):
        monkeypatch.setattr(owner, name, getattr(owner, name))  # to restore it
    batch_memory = script()
    monkeypatch.setattr(batch_memory, "BENCHMARKS", {"bert-ddp": ("hf_Bert", 1)})
    batch_memory.main()
    (tmp_path / "found.yaml").write_text(capsys.readouterr().out)
    found = read_scaling(tmp_path / "found.yaml")["bert-ddp"]
    shipped = read_scaling(ROOT / "config" / "_scaling.yaml")["bert-ddp"]
    assert [batch for batch, _ in found] == [batch for batch, _ in shipped]
    expected = [memory for _, memory in shipped]
    assert [memory for _, memory in found] == pytest.approx(expected, rel=0.02)
