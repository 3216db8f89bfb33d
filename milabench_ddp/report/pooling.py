"""Which runs may be pooled: those that measured the same work with the same software and hardware.

Names of hosts and serial numbers of devices may differ: a run on other nodes of the same cluster
measures the same thing again. A fact that a run did not record is not compared.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from ..errors import PoolingError
from ..grouping import grouped
from ..results.records import Payload, Record, Run, is_finite, mapping_or_empty

MOST_SHOWN = 12
ABSENT = "(absent)"
# Keys of a benchmark's configuration that do not change what it measures.
IRRELEVANT = (
    *("because", "enabled", "group", "install_group", "install_variant", "max_duration"),
    *("max_output", "pip", "requires_capabilities", "sweep", "tags", "url", "validation"),
)
# All that is compared of milabench's own configurations, which also say where they were run.
OF_MILABENCH = ("argv", "env", "num_machines", "plan", "voir")
SIZES = (".devices", ".num_machines")
PACKAGES = ("torchvision", "transformers", "triton")
# Variables that change the speed of programs, unless they are paths or choose devices.
VARIABLE = re.compile(
    r"(CUDA|GLOO|GOMP|HIP|HSA|KMP|MALLOC|MKL|NCCL|NVIDIA_TF32|OMP|PYTORCH|RCCL|TORCH|UCX|XLA)"
)
# The plan sets OMP_NUM_THREADS itself.
NO_SETTING = re.compile(r"OMP_NUM_THREADS$|.*_(DEVICES|DEVICE_ORDER|DIR|FILE|HOME|PATH|ROOT)$")
PROGRAM = re.compile(r".*/(?=benchmarks/)")  # the folder of a checkout

Facts = Mapping[str, str]  # texts, by the name of what they are about


class Difference(Struct, frozen=True):
    """Something in which runs differ."""

    field: str  # such as ``driver`` or ``resnet50.argv.--batch-size``
    runs: Mapping[str, Sequence[str]]  # the run folders, by the value that they have

    @property
    def is_of_size(self) -> bool:
        return self.field.endswith(SIZES)

    def __str__(self) -> str:
        values = [f"{value} ({', '.join(names)})" for value, names in self.runs.items()]
        return f"{self.field}: {', '.join(values)}"


def check_distinct(runs: Sequence[Run]) -> None:
    """Raise PoolingError if runs have a process in common: a copy is not another launch."""
    first: dict[tuple[object, ...], Run] = {}
    for run in runs:
        for record in run.records:
            start = record.start or {}
            pid, time = start.get("pid"), start.get("time")
            if not is_finite(pid):  # milabench's own files do not tell it
                continue
            known = first.setdefault((record.tag, pid, time if is_finite(time) else None), run)
            if known is not run:
                raise PoolingError(
                    f"{run.path} is a copy of {known.path}, at least of {record.tag}: name one"
                )


def check_poolable(differences: Sequence[Difference]) -> None:
    """Raise PoolingError if there is a difference; the message names the first ones."""
    if not differences:
        return
    lines = ["runs that differ are not pooled:"]
    lines += [f"  {difference}" for difference in differences[:MOST_SHOWN]]
    if len(differences) > MOST_SHOWN:
        lines.append(f"  ... and {len(differences) - MOST_SHOWN} more")
    lines.append("name those that do not, or pool them all the same with --pool")
    raise PoolingError("\n".join(lines))


def differences_of(runs: Sequence[Run]) -> list[Difference]:
    found = list(_compared(runs, [facts_of(run) for run in runs]))
    with_header = all(run.state is not None for run in runs)
    told = [
        (name, (run, _settings(run, records, with_header)))
        for run in runs
        for name, records in grouped((each.name, each) for each in run.records).items()
    ]
    for name, pairs in grouped(told).items():
        keys = dict.fromkeys(key for _, known in pairs for key in known)
        complete = [{f"{name}.{key}": known.get(key, ABSENT) for key in keys} for _, known in pairs]
        found += _compared([run for run, _ in pairs], complete)
    return found


def mixed_facts(run: Run) -> Iterator[tuple[str, list[str]]]:
    """The facts of which one run has several values: it was resumed, or its nodes differ."""
    for name, values in _facts_of_machines(run).items():
        if len(values) > 1:
            yield name, values


def has_local_changes(run: Run) -> bool:
    return run.state is not None and bool(_of(run.state.header.machine, "milabench").get("dirty"))


def _compared(runs: Sequence[Run], facts: Sequence[Facts]) -> Iterator[Difference]:
    for name in dict.fromkeys(name for known in facts for name in known):
        of_runs = [each for each in zip(runs, facts, strict=True) if name in each[1]]
        having = grouped((known[name], str(run.path)) for run, known in of_runs)
        if len(having) > 1:
            yield Difference(name, having)


def facts_of(run: Run) -> Facts:
    facts = {name: " and ".join(values) for name, values in _facts_of_machines(run).items()}
    presets = {str(record.config.get("preset") or "") for record in run.records}
    if run.state is not None:
        presets = {run.state.header.preset}
    if presets - {""}:
        facts["preset"] = " and ".join(sorted(presets - {""}))
    if run.state is None:
        return facts
    header = run.state.header
    if has_local_changes(run) and COMMIT in facts:
        facts[COMMIT] += " with local changes"
    if header.milabench:
        facts["milabench"] = header.milabench
    if image := _of(header.machine, "container"):
        told = [str(image["image"]).rpartition("/")[2], str(image.get("digest") or "")[:19]]
        facts["image"] = " ".join(filter(None, told))
    if "environment" in header.machine:
        chosen = []
        for name, value in _of(header.machine, "environment").items():
            if VARIABLE.match(name) and not NO_SETTING.match(name):
                chosen.append(f"{name}={value}")
        facts["environment"] = " ".join(chosen) or "without such variables"
    return facts


def _facts_of_machines(run: Run) -> dict[str, list[str]]:
    """The facts that the nodes of a run recorded: each with its different values.

    What no node recorded is that of the host where the run was started. Its software counts always,
    but it may be a login node with other hardware.
    """
    head: Payload = {}
    if run.state is not None:
        machine = run.state.header.machine
        modules = _of(machine, "environment").get("LOADEDMODULES")
        head = {**machine, "cpu": _of(machine, "host").get("cpu"), "modules": modules}
    of_nodes = [_facts_of_meta(record.meta) for record in run.records]
    found: dict[str, list[str]] = {}
    for name, of_head in _facts_of_meta(head).items():
        values = {facts[name] for facts in of_nodes} - {""}
        if name in SOFTWARE or not values:
            values |= {of_head} - {""}
        if values:
            found[name] = sorted(values)
    return found


COMMIT = "milabench commit"
SOFTWARE = ("torch", "CUDA", "ROCm", "NCCL", "cuDNN", *PACKAGES, "Python", COMMIT)


def _facts_of_meta(meta: Payload) -> Facts:
    gpus = _gpus(meta)
    sizes = [_of(gpu, "memory").get("total") for gpu in gpus]
    return {
        "torch": told_text(meta, "pytorch", "torch"),
        "CUDA": told_text(meta, "pytorch", "cuda"),
        "ROCm": told_text(meta, "pytorch", "hip"),
        "NCCL": told_text(meta, "pytorch", "nccl"),
        "cuDNN": told_text(meta, "pytorch", "cudnn"),
        "driver": told_text(meta, "accelerators", "driver"),
        "devices": devices_of(meta),
        "device memory": _listed(f"{size / 1024:.0f} GiB" for size in sizes if is_finite(size)),
        "power limit": _listed(_number(gpu.get("power_limit"), " W") for gpu in gpus),
        "ECC": _listed(_number(gpu.get("ecc"), "") for gpu in gpus),
        "CPU": cpu_of(meta),
        **{name: told_text(meta, "packages", name) for name in PACKAGES},
        "Python": str(meta.get("python") or ""),
        "modules": str(meta.get("modules") or "").replace(":", " "),
        COMMIT: told_text(meta, "milabench", "commit")[:12],
    }


def _number(value: object, unit: str) -> str:
    if value is None:
        return ""
    return f"{value:g}{unit}" if is_finite(value) else str(value)


def _listed(words: Iterable[str]) -> str:
    return ", ".join(sorted({*words} - {""}))


def told_text(meta: Payload, group: str, key: str) -> str:
    """What a node recorded, as text; empty if it did not."""
    return str(_of(meta, group).get(key) or "")


def _of(facts: Payload, name: str) -> Payload:
    return mapping_or_empty(facts.get(name))


def _gpus(meta: Payload) -> list[Payload]:
    return [mapping_or_empty(gpu) for gpu in _of(_of(meta, "accelerators"), "gpus").values()]


def devices_of(meta: Payload) -> str:
    """The devices of a node: ``8 x NVIDIA H200``; empty if they were not recorded."""
    products = Counter(str(gpu.get("product") or "unnamed device") for gpu in _gpus(meta))
    if not products:
        return "no GPU" if told_text(meta, "accelerators", "arch") == "cpu" else ""
    return ", ".join(f"{count} x {name}" for name, count in products.items())


def cpu_of(meta: Payload) -> str:
    """The CPUs of a node: ``96 x AMD EPYC 9654``; empty if they were not recorded."""
    cpu = _of(meta, "cpu")
    return " x ".join(str(cpu[key]) for key in ("count", "brand") if cpu.get(key))


def _settings(run: Run, records: Sequence[Record], with_header: bool) -> Facts:
    """The settings of a benchmark, of which these are the records."""
    config = records[0].config
    if run.state is not None:
        config = _of(run.state.header.suite, records[0].name) or config
    wanted = config.keys() - set(IRRELEVANT) if with_header else set(OF_MILABENCH)
    base = str(run.path.resolve().parent.parent)  # of <base>/runs/<name>
    found: dict[str, str] = {}
    for key in config:
        if key in wanted:
            found |= _flat(key, config[key], base)
    for key in ("program", "definition"):
        if key in found:
            found[key] = PROGRAM.sub("", found[key])
    nodes = records[0].config.get("num_machines")
    if nodes is not None:  # without it in the configuration, as many as the run had
        found["num_machines"] = str(nodes)
    used: set[str] = set()
    for record in records:
        devices = record.config.get("devices")
        used |= set(map(str, devices)) if isinstance(devices, list) else set()
        if record.device is not None:
            used.add(str(record.device))
        model = record.reported("model")
        if "asked_batch_size" in model:  # the program took a smaller one
            found["argv.--batch-size"] = str(model.get("batch_size"))
    found["devices"] = str(len(used))
    return found


def _flat(key: str, value: object, base: str) -> dict[str, str]:
    """A value as texts, with dots in the keys as in ``--override``, and ``{base}`` for its path."""
    if not isinstance(value, Mapping):
        return {key: str(value).replace(base, "{base}")}
    found: dict[str, str] = {}
    for name, inner in value.items():
        found |= _flat(f"{key}.{name}", inner, base)
    return found
