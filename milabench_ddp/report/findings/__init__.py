"""Findings: what was left out, what is wrong, and what stands out.

To add a finding, write its function in a file here, and add a line with its name, its severity and
what to do about it to one of two dicts: ``RUN_FINDINGS`` has functions of all ``Measurements``,
``BENCHMARK_FINDINGS`` has functions of a ``Row``, whose sentences begin with the benchmark's name.

An error is what breaks a run or a machine, and what makes a number a wrong one: a run with one has
not passed. A warning is about a number that is right, but unsure, or not what the machine could
reach. If milabench looks for the
same, the line names its validation layer.
"""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from ...errors import contained
from ..broken_rows import broken_finding
from ..finding import Finding
from ..model import Row
from . import (
    checked_gradients,
    device_problems,
    device_state,
    device_use,
    environment,
    exposed,
    failed,
    garbage,
    held_down,
    host_bound,
    hosts,
    jitter,
    losses,
    measured_devices,
    memory,
    missing_ranks,
    node_differences,
    peaks,
    placement,
    rate_problems,
    runs,
    slow,
    slow_ranks,
    stages,
    startup,
    survivors,
    unsteady,
)
from .finder import Finder, Measurements, Subject, error, note, warning

APART = "report on each run alone"
RUN_FINDINGS: Mapping[str, Finder[Measurements]] = {
    "failed": error(failed.failed, "see Failures, at the end of the report", layer="error"),
    "no_rate": error(
        failed.without_rate, "let it write its rate as docs/configuration.rst says", "ensure_rate"
    ),
    "missing_records": error(failed.missing_records, "run it again", layer="planning"),
    # they use its devices and cores, so its numbers and later ones may be too low
    "survivors": error(
        survivors.survivors,
        "see where they wait (/proc/PID/stack, dmesg) or whose they are (ps), and measure again",
    ),
    "nan_loss": error(
        failed.nan_losses, "check its data, its precision and its learning rate", layer="loss"
    ),
    "damaged_file": warning(runs.damaged_files),
    "pooled_runs": note(runs.pooled_runs),
    "pooled_differences": warning(runs.pooled_differences, APART),
    "baseline_differences": note(runs.baseline_differences),
    "mixed_run": warning(runs.mixed_runs, "repeat it as a new run"),
    "unknown_version": note(runs.unknown_versions, layer="version"),
    "local_changes": warning(runs.local_changes, "commit before a run"),
    "left_out_by_milabench": warning(runs.left_out_by_milabench, "read it without --compat"),
    # nothing was measured there, or only until it was lost
    "unused_node": error(node_differences.unused_nodes),
    "lacking_node": warning(node_differences.lacking_nodes),
    "different_nodes": warning(node_differences.different_nodes, "make the nodes alike"),
    "lost_device": error(device_problems.lost_devices, "see the kernel's log (dmesg) for its Xid"),
    "device_fault": error(
        device_problems.device_faults, "see what NVIDIA's documentation says of the Xid"
    ),
    # data that ECC could not correct was lost; a later run on the same memory is no better
    "memory_error": error(device_state.memory_errors, "reset it; replace it if that comes again"),
    "earlier_memory_error": warning(
        device_state.earlier_memory_errors, "reset it; replace it if that comes again"
    ),
    "remap_pending": warning(
        device_state.pending_remaps, "reset it when nothing runs on it (nvidia-smi --gpu-reset)"
    ),
    "narrow_link": warning(
        device_state.narrow_links, "seat it anew, and look at its slot and the BIOS's settings"
    ),
    "corrected_memory_error": note(device_state.corrected_errors, "replace it if there are many"),
    "lowered_power_cap": note(
        device_use.lowered_power_caps, "`nvidia-smi -pl` sets it, if that is not meant"
    ),
    "device_note": note(device_problems.device_notes),
    "hazard": warning(environment.hazards, "unset it, unless it is what you measure"),
    "measured_peak": note(peaks.measured_peaks),
    "few_observations": note(unsteady.few_observations, "let them run for longer, or repeat"),
}
BENCHMARK_FINDINGS: Mapping[str, Finder[Row]] = {
    # it hangs, or never began; the rate of its job is not that of the ranks that were planned
    "silent_rank": error(
        missing_ranks.silent_ranks,
        "see what it printed, and whether its node and its device answer",
        layer="planning",
    ),
    "missing_job": error(missing_ranks.missing_jobs, "run it again", layer="planning"),
    "missing_steps": warning(missing_ranks.missing_steps, "see what it printed last"),
    # its numbers are those of another device
    "other_device": error(measured_devices.other_devices, "look at what sets CUDA_VISIBLE_DEVICES"),
    "other_software": note(measured_devices.other_software),
    "several_units": warning(rate_problems.several_units, APART),
    "different_speeds": warning(runs.different_speeds, APART),
    "nothing_measured": warning(
        rate_problems.nothing_measured, "let it run for longer", layer="ensure_rate"
    ),
    "unusable_rates": warning(
        rate_problems.unusable_rates, "mend the lines that the program writes"
    ),
    "unknown_writers": warning(rate_problems.unknown_writers, 'add "rank" to each line'),
    # one of two speeds is wrong, and nothing here tells which
    "above_peak": error(peaks.above_peak, "check the FLOP of its model, and its precision"),
    "hardware_above_peak": error(
        peaks.hardware_above_peak, "check its ratio of hardware FLOP to those of the model"
    ),
    "speed_not_finite": warning(peaks.speeds_not_finite, "let it tell a finite number"),
    "told_by_a_part": warning(peaks.told_by_a_part, "let each process tell the same"),
    "misaligned_widths": warning(
        host_bound.misaligned_widths,
        "choose a model, or a number of ranks, whose shards are multiples of 8",
    ),
    "no_steady_state": warning(unsteady.no_steady_state),
    "bimodal": warning(unsteady.bimodal, "let it run for longer, or repeat it"),
    "until_not_reached": warning(
        unsteady.until_not_reached, "give it more launches (--repeat), or longer ones"
    ),
    # steps that differ are no mistake: the interval of the mean tells what they cost
    "unstable": note(unsteady.unstable, "see what else runs there, and how long each step is"),
    "time_between_observations": note(
        unsteady.time_between_observations, "measure it in the rate if it is part of the training"
    ),
    "start_up_left_out": note(unsteady.start_up_left_out),
    "near_memory_limit": warning(
        memory.near_memory_limit, "use smaller batches, or --activation checkpoint"
    ),
    "allocator_retries": warning(
        memory.allocator_retries,
        "use smaller batches, or PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
    ),
    "memory_not_sampled": note(rate_problems.memory_not_sampled),
    # the speed counts: it depends on the numbers in few kernels; but what is trained is of no use
    "loss_not_falling": warning(
        losses.losses_not_falling, "check its data and its learning rate", layer="loss"
    ),
    "data_bound": warning(host_bound.data_bound, "give it more loader workers, or faster storage"),
    "idle_device": warning(
        device_use.idle_devices, "give it more work, or leave it out", layer="usage"
    ),
    "far_cores": warning(
        placement.far_cores, "bind it to the cores of its NUMA node (`nvidia-smi topo -m`)"
    ),
    "oversubscribed": warning(
        placement.oversubscribed, "lower OMP_NUM_THREADS, or start fewer ranks on a node"
    ),
    "host_bound": warning(host_bound.host_bound, "give it larger batches, or compile it"),
    "busy_host": warning(
        hosts.busy_hosts, "see what else runs there (`top`), and give it fewer loader workers"
    ),
    "launch_skew": note(startup.launch_skew, "see --table startup"),
    "warm_cache": note(host_bound.warm_cache),
    "foreign_process": warning(
        device_state.foreign_processes, "measure again when it has ended, or on another GPU"
    ),
    "hot": warning(device_state.hot_devices, "look at its cooling and its neighbours"),
    "throttled": warning(held_down.throttled, "look at its cooling and its power supply"),
    "power_capped": note(held_down.power_capped, "compare it at the same power cap alone"),
    "set_clocks": note(held_down.set_clocks, "`nvidia-smi -rgc` and `-rac` reset them"),
    "slow_node": warning(
        slow.slow_nodes, "look at its GPUs, its cooling, its cores and its network"
    ),
    "slow_device": warning(slow.slow_devices, "look at its clocks, heat and neighbours"),
    "slow_rank": warning(slow_ranks.slow_ranks, "look at what it does in that part of a step"),
    "exposed_communication": warning(
        exposed.exposed_communication,
        "give a step more work (larger batches, --accumulate), or try larger buckets"
        " (--bucket-cap-mb) or a faster network",
    ),
    "jitter": warning(
        jitter.recurring_pauses,
        "see what comes at such distances: checkpoints, logs, timers of the host",
    ),
    "garbage_collection": warning(
        garbage.garbage_collections,
        "keep less of what a step makes, or call gc.freeze() once that has been made which stays",
    ),
    "uneven_stages": note(
        stages.uneven_stages, "give that stage less of the model, or take other stages per rank"
    ),
    "not_compared": note(stages.not_compared),
    "slow_link": warning(slow.slow_links, "look at its cable, its switch and `nvidia-smi nvlink`"),
    "wrong_gradients": error(
        checked_gradients.wrong_gradients, "find the mode or the precision that makes them wrong"
    ),
    "checked_gradients": note(checked_gradients.right_gradients),
}


def findings_of(measured: Measurements) -> tuple[Finding, ...]:
    """All findings, the worst first; those of a name stand together, in the order of the dicts."""
    found: list[Finding] = []
    for name, of_runs in RUN_FINDINGS.items():
        found += _looked_for(name, of_runs, measured)
    by_name: dict[str, list[Finding]] = {name: [] for name in BENCHMARK_FINDINGS}
    for row in measured.rows:
        for finding in findings_of_row(row):
            by_name[finding.name].append(finding)
    found += [finding for findings in by_name.values() for finding in findings]
    return tuple(sorted(found, key=lambda finding: finding.severity.rank))


def _looked_for(name: str, finder: Finder[Subject], subject: Subject) -> list[Finding]:
    """The findings of one name; where looking for them fails, that is the finding."""
    found: list[Finding] = []
    with contained(lambda error: found.append(broken_finding(name, error))):
        found += finder.findings(name, subject)
    return found


def findings_of_row(row: Row) -> Iterator[Finding]:
    """The findings about a benchmark, in the order of the dict; each names the benchmark."""
    for name, of_row in BENCHMARK_FINDINGS.items():
        for finding in _looked_for(name, of_row, row):
            sentence = finding.sentence
            if not sentence.startswith(f"{row.name}."):  # the tag of a process
                sentence = f"{row.name}: {sentence}"
            yield replace(finding, sentence=sentence, benchmark=row.name)
