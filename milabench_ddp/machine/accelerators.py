"""The facts of devices that were measured, for the provenance."""

from collections.abc import Mapping

from msgspec import Struct, field


class Accelerator(Struct, frozen=True):
    """The facts of a device that was measured; None for a fact that the driver does not tell."""

    device: int  # its index
    id: str
    product: str
    memory: Mapping[str, float]  # used and total, MiB
    uuid: str | None = None
    capability: str | None = None  # CUDA's: "9.0"
    vbios: str | None = None
    power_limit: float | None = None  # W, the power cap that is in force
    default_power_limit: float | None = None  # W, what it is unless someone sets it
    clocks_max: Mapping[str, int | None] | None = None  # sm and memory, MHz
    pcie: Mapping[str, str | int | None] | None = (
        None  # bus_id, and the greatest generation and width
    )
    ecc: bool | None = None
    cpus: str | None = None  # the cores next to it: "0-47,96-143"


class Accelerators(Struct, frozen=True):
    """The devices that were measured, and versions of their driver."""

    arch: str
    gpus: Mapping[str, Accelerator] = field(default_factory=dict)  # by index
    driver: str | None = None
    cuda_driver: str | None = None
    nvml: str | None = None
    notes: tuple[str, ...] | None = None  # those of the node
