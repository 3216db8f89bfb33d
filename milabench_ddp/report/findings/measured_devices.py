"""What programs told of the devices that they measured, beside what the driver and the plan say.

Runs of programs that do not tell it have no such findings.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from ...errors import shown_names
from ...results.records import Payload, Record, mapping_or_empty
from ..finding import Finding, Findings
from ..model import Row
from ..process import ProcessResult
from ..ranks.rank_launch import LaunchKey
from ..ranks.rank_summary import rank_id

_SOFTWARE = {"torch": "torch", "cuda": "CUDA", "nccl": "NCCL", "cudnn": "cuDNN"}


def other_devices(row: Row) -> Findings:
    """Ranks that measured another device than the plan's, or one device together."""
    wrong: dict[str, list[str]] = defaultdict(list)
    for process in row.processes:
        for rank, told in process.record.devices.items():
            if sentence := _other_device(process.record, told):
                wrong[sentence].append(_label(process.record, rank))
    for sentence, ranks in wrong.items():
        names = list(dict.fromkeys(ranks))
        yield Finding(f"{shown_names(names)} {sentence}", place=", ".join(names))
    yield from _shared_devices(row.processes)


def _other_device(record: Record, told: Payload) -> str:
    """What a rank measured in place of its device; empty if it is the one of the plan."""
    gpus = _gpus(record)
    arch, kind, name = record.accelerators.get("arch"), told.get("kind"), told.get("name")
    if kind is not None and arch is not None and (kind == "cpu") != (arch == "cpu"):
        products = {str(gpu.get("product")) for gpu in gpus}
        planned = "CPU slots" if arch == "cpu" else shown_names(sorted(products)) or arch
        measured = "the CPU" if kind == "cpu" else name
        return f"measured {measured}, and the plan was {planned}: its numbers are of {measured}"
    uuid, known = told.get("uuid"), [str(gpu.get("uuid")) for gpu in gpus]
    # The UUID of an instance of MIG is not that of its GPU; voir's back-ends have none.
    comparable = known and all(each.startswith("GPU-") for each in known)
    if uuid is None or uuid in known or not comparable:
        return ""
    return f"measured {uuid}, and the plan was {shown_names(known)}, as the driver names them"


def _label(record: Record, rank: int) -> str:
    name = rank_id(record, rank).name
    return f"{name} ({record.node})" if record.node else name


def _gpus(record: Record) -> list[Payload]:
    """The GPUs of a process, as its node recorded them; all of the node if it names none."""
    indices = record.config.get("devices")
    if not isinstance(indices, list) or not indices:
        indices = list(mapping_or_empty(record.accelerators.get("gpus")))
    return list(map(record.gpu, indices))


def _shared_devices(processes: Sequence[ProcessResult]) -> Iterator[Finding]:
    using: dict[tuple[LaunchKey, str], dict[str, None]] = defaultdict(dict)
    for process in processes:
        for rank, told in process.record.devices.items():
            if isinstance(told.get("uuid"), str):
                name = _label(process.record, rank)
                using[process.launch, told["uuid"]][name] = None
    sentences = {}
    for (_, uuid), names in using.items():
        if len(names) > 1:
            place = list(names)
            sentences[f"{shown_names(place)} measured the same GPU, {uuid}"] = place
    for sentence, place in sentences.items():
        yield Finding(sentence, place=", ".join(place))


def other_software(row: Row) -> Findings:
    """Versions that programs ran with, and that are not those that the run recorded."""
    for sentence in dict.fromkeys(_other_versions(row.processes)):
        yield Finding(sentence)


def _other_versions(processes: Sequence[ProcessResult]) -> Iterator[str]:
    for process in processes:
        recorded: Mapping[str, object] = mapping_or_empty(process.record.meta.get("pytorch"))
        for told in process.record.devices.values():
            for key, name in _SOFTWARE.items():
                mine, other = told.get(key), recorded.get(key)
                if mine and other and not _is_same(str(mine), str(other)):
                    yield f"it ran with {name} {mine}, and the run recorded {other}"


def _is_same(told: str, recorded: str) -> bool:
    """Whether two versions are equal; packages add parts: 9.26.0.51 is cuDNN's 9.26.0."""
    return recorded == told or recorded.startswith(f"{told}.")
