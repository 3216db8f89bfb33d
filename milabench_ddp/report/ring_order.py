"""An order of nodes in which a ring of them avoids slow links."""

from msgspec import Struct

from ..numerics import Counts, Floats, np
from .links import between_nodes, slow_links
from .model import Row
from .once import once
from .statistics.values import median

LEAST_GAIN = 0.05  # of the slowest link
POWER = 16  # of times whose sum is made small: the slowest link counts most, then how many are slow
FEWEST_NODES = 4  # three nodes have one ring


class RingOrder(Struct, frozen=True):
    """An order of nodes for a ring, which begins with the first node as now."""

    order: tuple[str, ...]
    now_gb_s: float  # of the slowest link of the ring
    gb_s: float  # in the new order
    now_slow: int  # links of the ring that are slow
    slow: int  # in the new order

    @property
    def gain(self) -> float:
        """By how much a ring all-reduce is faster: it is as fast as its slowest link."""
        return self.gb_s / self.now_gb_s - 1


@once
def ring_order(row: Row) -> RingOrder | None:
    """The order of the nodes but those all of whose links are slow; None if it gains too little.

    Links that are not slow count as equal, since they differ by noise; of two ways the slower one
    counts. A link across which more of the ring went at the same time gains more than is said.
    """
    kind = between_nodes(row)
    if kind is None:
        return None
    found = [each for each in slow_links(row) if each.kind is kind]
    left_out = {node for each in found if each.shape in ("node", "card") for node in each.nodes}
    nodes = [node for node in dict.fromkeys(kind.node_of.values()) if node not in left_out]
    if len(nodes) < FEWEST_NODES:
        return None
    slow = {link for each in found for link in each.links if not left_out.intersection(link.nodes)}
    typical = median(link.gb_s for link in kind.links if link not in slow)
    speeds = np.full((len(nodes), len(nodes)), typical)
    for link in slow:
        i, j = map(nodes.index, link.nodes)
        speeds[i, j] = speeds[j, i] = min(link.gb_s, speeds[i, j])
    order = best_ring(typical / speeds)
    before, after = (speeds[ring, np.roll(ring, -1)] for ring in (np.arange(len(nodes)), order))
    made = RingOrder(
        tuple(nodes[number] for number in order),
        float(before.min()),
        float(after.min()),
        int((before < typical).sum()),
        int((after < typical).sum()),
    )
    fewer = made.gain > -LEAST_GAIN and made.slow < made.now_slow
    return made if made.gain >= LEAST_GAIN or fewer else None


def best_ring(times: Floats) -> Counts:
    """A ring whose slowest link, and then the sum of its times, is small, by 2-opt moves.

    A move turns a part of the ring around, so that two links are replaced (G. A. Croes, "A method
    for solving traveling-salesman problems", Operations Research 6, 1958). It begins at the given
    order, and keeps what of it is no hindrance.

    Args:
        times: of each link, of which the fastest is about 1; symmetric, shape (N, N).

    Returns:
        the places in their new order, beginning with 0, shape (N,).
    """
    count = len(times)
    weights = times**POWER
    order = np.arange(count)
    for _ in range(count**2):
        following = np.roll(order, -1)
        links = weights[order, following]
        replaced = links[:, None] + links[None, :]
        made = weights[np.ix_(order, order)] + weights[np.ix_(following, following)]
        gains = np.triu(replaced - made, k=1)
        i, j = np.unravel_index(np.argmax(gains), gains.shape)
        if gains[i, j] <= 1e-9 * replaced[i, j]:
            break
        order[i + 1 : j + 1] = order[i + 1 : j + 1][::-1]
    return order
