"""The options of ``new``."""

from dataclasses import dataclass

from .option import option


@dataclass(frozen=True, kw_only=True)
class NewOptions:
    name: str = option("", "the name of the benchmark and of its files", is_positional=True,
                       metavar="NAME")  # fmt: skip
    per_gpu: bool = option(False, "a process for each device, by themselves; as without an option")
    torchrun: bool = option(False, "one torchrun over all devices, with DDP")
    voir: bool = option(False, "a script that stays as it is, and a voirfile that measures it")
    sweep: bool = option(False, "a benchmark for each of a few batch sizes")
