"""The columns of the tables of what was measured, each declared once, and how frames get them.

In a frame an unknown value is null. The frames of a report's processes are made in
``report/frames.py``: ::

    from .frames import samples

    seen = samples(row.processes)
    seen.filter("measured").group_by("node", "device").agg(pl.col("sm_clock").mean())
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from ..numerics import Frame, pl
from ..samples import DeviceSample, HostSample, sensors_of


class TableColumn(Struct, frozen=True):
    """A column of a table; each of its values may be unknown."""

    name: str
    kind: type  # str, int, float or bool
    meaning: str
    unit: str = ""


class TableSchema(Struct, frozen=True):
    """A table: what a line of it is, and its columns, those that name a line first."""

    meaning: str
    columns: tuple[TableColumn, ...]

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def frame(self, columns: Mapping[str, object]) -> Frame:
        """A frame of this table.

        Args:
            columns: by name, a sequence of shape (n,), or the value of all lines. Those that are
                missing are unknown, as are NaN and what a damaged file has that no column can hold.
        """
        types = {str: pl.String, int: pl.Int64, float: pl.Float64, bool: pl.Boolean}
        schema, data = {}, {}
        for column in self.columns:
            schema[column.name] = types[column.kind]
            values = columns.get(column.name)
            data[column.name] = _as_utf8(values) if column.kind is str else values
        return pl.DataFrame(data, schema, strict=False).fill_nan(None)

    def frame_of_lines(self, lines: Iterable[Mapping[str, object]]) -> Frame:
        found = list(lines)
        return self.frame({name: [line.get(name) for line in found] for name in self.names})

    def joined(self, parts: Iterable[Mapping[str, object]]) -> Frame:
        """One frame of the columns of several parts, of which there may be none."""
        return pl.concat([self.frame_of_lines(()), *map(self.frame, parts)])


def _as_utf8(values: object) -> object:
    """Texts as UTF-8 can hold them: a file may have bytes that are none."""
    if isinstance(values, str):
        return values.encode(errors="backslashreplace").decode()
    return list(map(_as_utf8, values)) if isinstance(values, list) else values


def sensor_columns(sample: type[Struct]) -> tuple[TableColumn, ...]:
    sensors = (sensor for sensor in sensors_of(sample) if sensor.is_exported)
    return tuple(TableColumn(each.name, each.kind, each.meaning, each.unit) for each in sensors)


RUN = TableColumn("run", str, "the run folder")
BENCHMARK = TableColumn("benchmark", str, "the benchmark")
TAG = TableColumn("tag", str, "the process")
REPEAT = TableColumn("repeat", str, "R0 is the first of several launches")
NODE = TableColumn("node", str, "empty if all of the benchmark ran on one node")
STEADY = TableColumn("steady", bool, "whether it is in the steady state, which the numbers are of")
MEASURED = TableColumn("measured", bool, "whether its process measured its steady state then")
TIME = TableColumn("time", float, "since the epoch", "s")
PROCESS = RUN, BENCHMARK, TAG, REPEAT

STEPS = TableSchema(
    "A step of a rank, after the warm-up that its program left out.",
    (
        *PROCESS,
        NODE,
        TableColumn("job", int, "the job of the rank"),
        TableColumn("rank", int, "whose it is, as in the table ranks"),
        TableColumn("step", int, "from 0"),
        STEADY,
        TableColumn("ms", float, "the step", "ms"),
        TableColumn("wait_ms", float, "its wait for data", "ms"),
        TableColumn("forward_ms", float, "its forward pass", "ms"),
        TableColumn("backward_ms", float, "its backward pass", "ms"),
        TableColumn("forward_backward_ms", float, "both, of a pipeline", "ms"),
        TableColumn(
            "exposed_communication_ms",
            float,
            "communication that nothing hides, with waits for other ranks",
            "ms",
        ),
        TableColumn("optimizer_ms", float, "its update of the parameters", "ms"),
        TableColumn("host_ms", float, "what its loop does besides", "ms"),
    ),
)
RATES = TableSchema(
    "A rate that a program told: an observation.",
    (
        *PROCESS,
        TableColumn("rank", int, "whose rate it is; 0 if it is not told"),
        TableColumn("place", int, "from 0, in the order in which they were told"),
        TableColumn("time", float, "when it was told, since the epoch", "s"),
        TableColumn("rate", float, "the rate", "units/s"),
        TableColumn("unit", str, "of the rate"),
        TableColumn("steps", int, "how many steps it covers"),
        TableColumn("warmup", bool, "whether the program marked it as warm-up"),
        STEADY,
    ),
)
SAMPLES = TableSchema(
    "The readings of a device at one moment.",
    (
        *PROCESS,
        NODE,
        TableColumn("device", str, "its index on its node"),
        TIME,
        MEASURED,
        *sensor_columns(DeviceSample),
    ),
)
HOST_SAMPLES = TableSchema(
    "What a host did at one moment; rates are since the sample before.",
    (*PROCESS, NODE, TIME, MEASURED, *sensor_columns(HostSample)),
)
EVENTS = TableSchema(
    "Something that happened to a process: ``start``, ``end``, ``error`` or ``device_problem``.",
    (
        RUN,
        BENCHMARK,
        TAG,
        NODE,
        TableColumn("rank", int, "of an error: whose it is"),
        TableColumn("device", int, "of a problem: the index of the device"),
        TableColumn("time", float, "when it happened, since the epoch", "s"),
        TableColumn("kind", str, "what happened"),
        TableColumn("outcome", str, "of an end: ok, failed, timeout, cancelled, lost"),
        TableColumn("text", str, "the reason or the message"),
    ),
)
