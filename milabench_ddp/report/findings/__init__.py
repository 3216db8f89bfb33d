"""Findings: what was left out, what is wrong, and what stands out.

To add a finding, write its function in a file here, and add a line with its name, severity and
advice to one of two dicts. ``RUN_FINDINGS`` has functions ``Measurements -> Findings``;
``BENCHMARK_FINDINGS`` has functions ``Row -> Findings``, and their sentences are prefixed with the
benchmark's name.
"""

from collections.abc import Mapping
from dataclasses import replace

from ..model import Finding, Row, Severity
from .checked_gradients import checked_gradients
from .device_problems import device_faults, device_notes, lost_devices
from .device_state import (
    corrected_errors,
    foreign_processes,
    hot_devices,
    memory_errors,
    narrow_links,
)
from .finder import Finder, Measurements
from .held_down import power_capped, set_clocks, throttled
from .host_bound import host_bound, misaligned_widths, warm_cache
from .measured_devices import other_devices, other_software
from .node_differences import different_nodes, lacking_nodes, unused_nodes
from .peaks import (
    above_peak,
    hardware_above_peak,
    measured_peaks,
    speeds_not_finite,
    told_by_a_part,
)
from .rate_problems import (
    memory_not_sampled,
    nothing_measured,
    several_units,
    unknown_writers,
    unusable_rates,
)
from .runs import (
    baseline_differences,
    damaged_files,
    different_speeds,
    left_out_by_milabench,
    local_changes,
    mixed_runs,
    pooled_differences,
    pooled_runs,
)
from .slow import slow_devices, slow_links, slow_ranks
from .unsteady import (
    few_observations,
    few_visits,
    no_steady_state,
    start_up_left_out,
    time_between_observations,
)

NOTE, WARNING = Severity.NOTE, Severity.WARNING
APART = "report on each run alone"


RUN_FINDINGS: Mapping[str, Finder[Measurements]] = {
    "damaged_file": Finder(damaged_files, WARNING),
    "pooled_runs": Finder(pooled_runs, NOTE),
    "pooled_differences": Finder(pooled_differences, WARNING, APART),
    "baseline_differences": Finder(baseline_differences, NOTE),
    "mixed_run": Finder(mixed_runs, WARNING, "repeat it as a new run"),
    "local_changes": Finder(local_changes, WARNING, "commit before a run"),
    "left_out_by_milabench": Finder(left_out_by_milabench, WARNING, "read it without --compat"),
    "unused_node": Finder(unused_nodes, WARNING),
    "lacking_node": Finder(lacking_nodes, WARNING),
    "different_nodes": Finder(different_nodes, WARNING, "make the nodes alike"),
    "lost_device": Finder(lost_devices, WARNING, "see the kernel's log (dmesg) for its Xid"),
    "device_fault": Finder(device_faults, WARNING),
    "memory_error": Finder(memory_errors, WARNING, "reset it; replace it if that comes again"),
    "narrow_link": Finder(
        narrow_links, WARNING, "seat it anew, and look at its slot and the BIOS's settings"
    ),
    "corrected_memory_error": Finder(corrected_errors, NOTE, "replace it if there are many"),
    "device_note": Finder(device_notes, NOTE),
    "measured_peak": Finder(measured_peaks, NOTE),
    "few_observations": Finder(few_observations, NOTE, "let them run for longer, or repeat"),
}
BENCHMARK_FINDINGS: Mapping[str, Finder[Row]] = {
    "other_device": Finder(other_devices, WARNING, "look at what sets CUDA_VISIBLE_DEVICES"),
    "other_software": Finder(other_software, NOTE),
    "several_units": Finder(several_units, WARNING, APART),
    "different_speeds": Finder(different_speeds, WARNING, APART),
    "nothing_measured": Finder(nothing_measured, WARNING, "let it run for longer"),
    "unusable_rates": Finder(unusable_rates, WARNING, "mend the lines that the program writes"),
    "unknown_writers": Finder(unknown_writers, WARNING, 'add "rank" to each line'),
    "above_peak": Finder(above_peak, WARNING, "check the FLOP of its model, and its precision"),
    "hardware_above_peak": Finder(
        hardware_above_peak, WARNING, "check its ratio of hardware FLOP to those of the model"
    ),
    "speed_not_finite": Finder(speeds_not_finite, WARNING, "let it tell a finite number"),
    "told_by_a_part": Finder(told_by_a_part, WARNING, "let each process tell the same"),
    "misaligned_widths": Finder(
        misaligned_widths,
        WARNING,
        "choose a model, or a number of ranks, whose shards are multiples of 8",
    ),
    "no_steady_state": Finder(no_steady_state, WARNING, "let it warm up for longer"),
    "few_visits": Finder(few_visits, WARNING, "let it run for longer, or repeat it"),
    "time_between_observations": Finder(
        time_between_observations, NOTE, "measure it in the rate if it is part of the training"
    ),
    "start_up_left_out": Finder(start_up_left_out, NOTE),
    "memory_not_sampled": Finder(memory_not_sampled, NOTE),
    "host_bound": Finder(host_bound, WARNING, "give it larger batches, or compile it"),
    "warm_cache": Finder(warm_cache, NOTE),
    "foreign_process": Finder(
        foreign_processes, WARNING, "measure again when it has ended, or on another GPU"
    ),
    "hot": Finder(hot_devices, WARNING, "look at its cooling and its neighbours"),
    "throttled": Finder(
        throttled,
        WARNING,
        "look at its cooling and its power supply",
    ),
    "power_capped": Finder(power_capped, NOTE, "compare it at the same power cap alone"),
    "set_clocks": Finder(set_clocks, NOTE, "`nvidia-smi -rac` resets them"),
    "slow_device": Finder(slow_devices, NOTE, "look at its clocks, heat and neighbours"),
    "slow_rank": Finder(slow_ranks, NOTE, "look at what it does in that part of a step"),
    "slow_link": Finder(slow_links, NOTE, "look at its cable, its switch and `nvidia-smi nvlink`"),
    "checked_gradients": Finder(checked_gradients, NOTE),
}


def findings_of(measured: Measurements) -> tuple[Finding, ...]:
    """All findings: first those about runs and files, then benchmark by benchmark."""
    found: list[Finding] = []
    for name, of_runs in RUN_FINDINGS.items():
        found += of_runs.findings(name, measured)
    for row in measured.rows:
        for name, of_row in BENCHMARK_FINDINGS.items():
            for finding in of_row.findings(name, row):
                sentence = f"{row.name}: {finding.sentence}"
                found.append(replace(finding, sentence=sentence, benchmark=row.name))
    return tuple(found)
