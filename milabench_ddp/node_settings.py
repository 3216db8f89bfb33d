"""The settings of a node: where each is read, and what was read there."""

from msgspec import Struct


class PciRegister(Struct, frozen=True, forbid_unknown_fields=True):
    """Some bits of a capability in the configuration space of a PCI device; root may read it."""

    capability: int  # its id, in PCI Express Base Specification 6.0, 7.5 to 7.9
    offset: int  # of a word of 16 bits in it
    mask: int
    extended: bool = False  # whether it is an extended capability, of a bridge


class SettingSource(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a setting is read: in each place that a pattern finds, or on each GPU."""

    read: tuple[str, ...] = ()  # patterns below the root; the first one that tells it counts
    file: str = ""  # in each place; empty: the place is the file
    gpu: str = ""  # instead: what the driver tells of each GPU, by its name in the provenance
    match: str = ""  # a regular expression with a group, whose matches are the value; "": all of it
    of: str = ""  # another file in the place, or fact of the GPU: what the value is a part of
    register: PciRegister | None = None  # instead of text
    count: bool = False  # whether the value is how many places there are
    needs: tuple[str, ...] = ()  # patterns; where nothing fits one, a node has no such setting
    skip: str = ""  # a regular expression of places that are left out
    absent: str = ""  # the value where no place tells it; "": then it is not known


class SettingValue(Struct, frozen=True):
    """A value of a setting, and how many places have it."""

    value: str
    count: int = 1
    where: str = ""  # these places, if others have another value


Settings = dict[str, tuple[SettingValue, ...]]
"""The settings of a node by name; the values with most places come first."""
