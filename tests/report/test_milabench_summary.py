"""The keys of milabench's summary, which its own reports read."""

from dataclasses import fields

from milabench_ddp.report.milabench_summary import MilabenchStatistics, MilabenchSummary


def test_the_keys_are_milabenchs() -> None:
    statistics = [field.name for field in fields(MilabenchStatistics)]
    assert statistics == ["min", "q1", "median", "q3", "max", "mean", "std", "sem"]
    summary = [field.name for field in fields(MilabenchSummary)]
    assert summary[:4] == ["n", "ngpu", "successes", "failures"]
    assert summary[4:] == ["train_rate", "walltime", "per_gpu", "gpu_load"]
