"""The settings of nodes that are not good, or not as on most nodes, and what they may explain."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from msgspec import Struct, ValidationError, convert
from msgspec.structs import replace

from ..config.audited import AuditedSetting, audited, text_of_values
from ..config.schema import is_of_each_node
from ..grouping import grouped
from ..hostlist import natural, shown_nodes
from ..node_settings import Settings, SettingValue
from ..results.records import Run
from .finding import Finding
from .model import Row
from .once import once

ALL = frozenset(("transfer", "p2p", "network", "memory", "cpu", "launch", "compute"))
FEWEST = 3  # nodes, for one of them to be the odd one
Values = tuple[SettingValue, ...]


class Suspect(Struct, frozen=True):
    """A setting of a node that is not good, or not as on most nodes."""

    name: str
    node: str  # empty on a single host
    values: Values
    # "bad", or "unusual", a matter of choice; "broken": it has less than its peers, and should not;
    # "differs": it is only not as on other nodes
    state: str

    @property
    def setting(self) -> AuditedSetting:
        return audited()[self.name]

    @property
    def shown(self) -> str:
        return text_of_values(self.values)

    @property
    def sentence(self) -> str:
        return f"{self.setting.what} is {self.shown}{f' on {self.node}' if self.node else ''}"


@once
def settings_of(run: Run) -> Mapping[str, Settings]:
    """The settings of the nodes of a run; of a single host, whose name is empty here."""
    if run.state is None:
        return {}
    nodes = run.state.nodes
    told = {name: nodes[name].settings for name in sorted(nodes, key=natural)}
    if not told:
        with suppress(ValidationError):
            told = {"": convert(run.state.header.machine.get("settings") or {}, Settings)}
    return {name: settings for name, settings in told.items() if settings}


@once
def suspects_of(run: Run) -> list[Suspect]:
    """In the order of the settings, then of the nodes; nodes of one product are compared."""
    told = settings_of(run)
    product = {node: text_of_values(known.get("product", ())) for node, known in told.items()}
    found: list[Suspect | None] = []
    for name in audited() if told else ():
        known = {node: settings[name] for node, settings in told.items() if name in settings}
        peers = grouped((product[node], values) for node, values in known.items())
        usual = {kind: _usual(all_values) for kind, all_values in peers.items()}
        found += (_judged(name, node, known[node], usual[product[node]]) for node in known)
    return [each for each in found if each is not None]


def _judged(name: str, node: str, values: Values, usual: Values) -> Suspect | None:
    setting = audited()[name]
    bad = setting.bad(values)
    differs = bool(usual) and usual != values
    if not bad and not (setting.same and differs):
        return None
    is_odd = differs and _worth(values, usual) < _worth(usual, usual)
    if setting.gpu:  # the GPUs of a host are peers, too
        is_odd |= 0 < 2 * sum(each.count for each in bad) < sum(each.count for each in values)
    state = ("bad" if setting.severity == "warning" else "unusual") if bad else "differs"
    return Suspect(name, node, values, "broken" if setting.fails and is_odd else state)


def _usual(all_values: Sequence[Values]) -> Values:
    """What more than half of the nodes have; empty if there is no such, or nodes are few."""
    ((usual, count),) = Counter(all_values).most_common(1)
    return usual if len(all_values) >= FEWEST and 2 * count > len(all_values) else ()


def _worth(values: Values, usual: Values) -> float:
    """How much of it there is: the sum of numbers, or how many places have the usual value."""
    try:
        return sum(each.count * float(each.value.partition(" ")[0]) for each in values)
    except ValueError:
        return sum(each.count for each in values if each.value == usual[0].value)


def alike(suspects: Iterable[Suspect]) -> Iterator[tuple[Suspect, tuple[str, ...]]]:
    """The suspects of several nodes that say the same, once, with these nodes."""
    same = grouped(((each.name, each.shown), each) for each in suspects)
    for those in same.values():
        yield those[0], tuple(each.node for each in those)


def nodes_of_job(row: Row) -> int:
    """How many nodes exchange data in a benchmark: 1 where each has a job of its own."""
    return 1 if is_of_each_node(row.config.get("plan")) else row.nodes


def costs_of(row: Row) -> frozenset[str]:
    """What kinds of work a benchmark measures, in the words of ``costs`` of a setting."""
    kinds: set[str] = set()
    if row.tables.get("comm") or row.tables.get("pair"):
        kinds |= {"p2p"} if nodes_of_job(row) == 1 else {"p2p", "network"}
    for payload in row.tables.get("bandwidth", ()):
        is_transfer = str(payload.get("path", "")).startswith(("h2d", "d2h", "both"))
        kinds.add("transfer" if is_transfer else "memory")
    if row.tables.get("sweep"):
        kinds.add("compute")
    return frozenset(kinds) or ALL


def explained(finding: Finding, row: Row) -> Finding:
    """A finding about nodes, with the settings of these nodes that may explain it."""
    slowed = costs_of(row)
    fitting = [
        each
        for run in row.runs
        for each in suspects_of(run)
        if each.node in finding.nodes and not slowed.isdisjoint(each.setting.costs)
    ]
    if not fitting:
        return finding
    told = [replace(first, node=shown_nodes(nodes)) for first, nodes in alike(fitting)]
    said = ", ".join(each.sentence for each in told)
    advice = "; ".join(filter(None, (fitting[0].setting.advice, finding.advice)))
    return replace(
        finding,
        sentence=f"{finding.sentence}; {said}",
        evidence={**finding.evidence, "explained_by": said},
        advice=advice,
    )
