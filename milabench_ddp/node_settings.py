"""The settings of a node: where each is read, and what was read there."""

from msgspec import Struct


class SettingSource(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a setting is read: in each place that a pattern finds, or on each GPU."""

    read: tuple[str, ...] = ()  # patterns below the root
    file: str = ""  # in each place; empty: the place is the file
    gpu: str = ""  # instead: what the driver tells of each GPU, by its name in the provenance
    match: str = ""  # a regular expression with a group, whose matches are the value; "": all of it
    of: str = ""  # another file in the place, or fact of the GPU: what the value is a part of
    acs: bool = False  # whether the file is the configuration space of a bridge, not text
    needs: tuple[str, ...] = ()  # patterns; where nothing fits one, a node has no such setting
    absent: str = ""  # the value where no place tells it; "": then it is not known


class SettingValue(Struct, frozen=True):
    """A value of a setting, and how many places have it."""

    value: str
    count: int = 1
    where: str = ""  # these places, if others have another value


Settings = dict[str, tuple[SettingValue, ...]]
"""The settings of a node by name; the values with most places come first."""
