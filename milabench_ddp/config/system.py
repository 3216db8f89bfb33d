"""The file ``system.yaml``: the user's description of a machine, which wins over detection."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import asdict

from ..errors import ConfigError
from ..machine.backends import BACKENDS
from .checks import Count, NotNegative, Text, as_mapping, check_keys, checked
from .sizing import Memory, SizingOptions
from .tree import DEFAULT, Location, ScalarNode, expanded, finalize, map_scalars, shown

if TYPE_CHECKING:
    _Arch = str
else:
    _Arch = Literal[tuple(BACKENDS)]

# Words that no program takes for an option.
_Name = Annotated[
    str,
    Meta(pattern=r"\A\w[\w.:-]*\Z", description="a name of letters, digits and any of `_ . : -`"),
]
_Host = Annotated[
    str,
    Meta(
        pattern=r"\A[A-Za-z0-9:_][A-Za-z0-9.:%_-]*\Z",
        description="an address or the name of a host",
    ),
]
_User = Annotated[str, Meta(pattern=r"\A\w[\w.@+\\-]*\Z", description="the name of a user")]


class SystemNode(Struct, frozen=True, forbid_unknown_fields=True):
    """One host of ``system.nodes``."""

    name: _Name
    ip: _Host | None = None
    user: _User | None = None
    main: bool = False  # the node that coordinates
    sshport: Count = 22
    hostname: Text | None = None  # milabench reads it, and the port
    port: Count = 1

    @property
    def address(self) -> str:
        return self.ip or self.name


class SystemGpu(Struct, frozen=True, forbid_unknown_fields=True):
    """The mapping ``system.gpu``; None if the file does not say, so that detection decides."""

    capability: NotNegative | None = None
    capacity: Memory | None = None
    count: Count | None = None


class _Keys(Struct, frozen=True, forbid_unknown_fields=True):
    arch: _Arch | None = None
    docker: Any = None
    docker_image: Text = ""
    gpu: SystemGpu = SystemGpu()
    options: SizingOptions = SizingOptions()
    sshkey: Path | None = None
    nodes: tuple[SystemNode, ...] = ()


class System(_Keys, frozen=True):
    """The mapping ``system:``, empty without a file."""

    warnings: tuple[str, ...] = ()  # what milabench takes, and what has no effect here


def read_system(file: Path) -> System:
    """Read a system file; raises ConfigError, with file and line, for a mistake in it."""
    # Imported here: each agent needs the records above, and none needs PyYAML (8 ms of CPU).
    from .merge import without_multirun
    from .yaml_reader import read_yaml

    warnings: list[str] = []
    top = finalize(without_multirun(read_yaml(file, warnings.append), warnings.append))
    check_keys({"system"}, top)
    node = top.get("system")
    if node is None:
        raise ConfigError(f"{shown(file)}: has no `system:`")
    node = as_mapping("system", map_scalars(node, _meant))
    stated: _Keys = checked(_Keys, "system", node)
    origin = node.entries["nodes"].origin if stated.nodes else DEFAULT
    for name, count in Counter(each.name for each in stated.nodes).items():
        if count > 1:
            raise ConfigError(f"two nodes are named `{name}` ({origin})")
    if sum(each.main for each in stated.nodes) > 1:
        raise ConfigError(f"several nodes are `main` ({origin}): only one can be")
    return System(**asdict(stated), warnings=tuple(warnings))


def _meant(scalar: ScalarNode, location: Location) -> ScalarNode:
    """Paths start from the folder of the file; a capacity of ``All`` is that of the device."""
    match location, scalar.value:
        case (*_, "capacity"), "All":
            return ScalarNode(None, scalar.origin)
        case (*_, "sshkey" | "config" | "save"), str(text):
            return ScalarNode(str(scalar.origin.folder / expanded(text)), scalar.origin)
    return scalar
