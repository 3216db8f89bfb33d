"""Which rank of a launch hangs, and in which call: that which does not wait for the others."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from ..events import Outcome, Verdict
from ..grouping import grouped
from ..hostlist import spans
from ..results.state import RankCall
from .causes import may_follow
from .stacks import Looked

_SHOWN = 4  # groups of ranks in a sentence
_STATES = {
    "T": ("is stopped", "are stopped"),
    "t": ("is stopped by a debugger", "are stopped by a debugger"),
    "D": ("does not return from the kernel", "do not return from the kernel"),
    "Z": ("has ended", "have ended"),
    "": ("has ended", "have ended"),
}


def is_hang(verdict: Verdict) -> bool:
    is_failure = verdict.outcome is Outcome.FAILED and may_follow(verdict.reason)
    return verdict.outcome is Outcome.TIMEOUT or is_failure


def who_hangs(calls: Iterable[RankCall], *, timed_out: bool = False) -> str:
    """A sentence that names the ranks that hang, then those that wait; empty if nothing is known.

    Args:
        timed_out: whether nothing else is known of why it ended: then also why that is not.
    """
    ranks: Sequence[RankCall] = sorted(calls, key=lambda call: (_waits(call), call.rank or 0))
    is_known = any(call.call or call.state in _STATES for call in ranks)
    if not is_known and not (timed_out and any(call.untold for call in ranks)):
        return ""
    if len(ranks) == 1 and ranks[0].rank is None:
        return f"it {_does(ranks[0], has_suspect=False)[0]}"
    if all(_waits(call) for call in ranks):
        ranks = _by_collectives(ranks)
    has_suspect = not all(_waits(call) for call in ranks)
    groups = grouped((_does(call, has_suspect=has_suspect), call.rank or 0) for call in ranks)
    said = []
    for (one, several), members in groups.items():
        *most, end = spans(sorted(members))
        named = f"{', '.join(most)} and {end}" if most else end  # such as 0, 1 and 3-7
        said.append(f"rank {named} {one}" if len(members) == 1 else f"ranks {named} {several}")
    more = f"; {len(said) - _SHOWN} more places" if len(said) > _SHOWN else ""
    return "; ".join(said[:_SHOWN]) + more


def with_hang(verdict: Verdict, sentence: str) -> Verdict:
    if not sentence or not is_hang(verdict):
        return verdict
    if verdict.outcome is Outcome.TIMEOUT:
        return Verdict(verdict.outcome, f"{verdict.reason}: {sentence}")
    first, *_ = verdict.reason.splitlines()
    return Verdict(verdict.outcome, f"{sentence} ({first})")


def told(found: Sequence[Looked]) -> str:
    """What was found, as text for a person: ranks that hang first, then those that wait."""
    blocks = []
    for seen in found:
        call = seen.call
        head, place = f"pid {seen.pid}: {seen.command}", 2
        if seen.is_rank:
            does, _ = _does(call, has_suspect=False)
            who = "it" if call.rank is None else f"rank {call.rank}"
            head, place = f"{who} {does} (pid {seen.pid})", int(_waits(call))
        lines = [head, f"  state {call.state or 'gone'}"]
        for number, stack in enumerate(reversed(seen.threads)):
            if number:
                lines.append("  another thread:")
            for frame in stack:
                lines.append(f'  File "{frame.file}", line {frame.line} in {frame.function}')
        blocks.append((place, "\n".join(lines)))
    blocks.sort(key=lambda block: block[0])
    return "\n\n".join(text for _, text in blocks) + "\n"


def _by_collectives(ranks: Sequence[RankCall]) -> Sequence[RankCall]:
    """Ranks that all wait; those that began fewer collectives than others do not, and come first.

    On a GPU all may wait for their devices, of which one hangs.
    """
    begun = [call.begun for call in ranks if call.begun is not None]
    if not begun or min(begun) == max(begun):
        return ranks
    missing, others = [], []
    for call in ranks:
        if call.begun is None or call.begun == max(begun):
            others.append(call)
        else:
            after = f"{call.call}, after {call.begun} of {max(begun)} collectives"
            missing.append(replace(call, waits_in="", call=after))
    return [*missing, *others]


def _waits(call: RankCall) -> bool:
    return bool(call.waits_in) and call.state not in _STATES


def _does(call: RankCall, *, has_suspect: bool) -> tuple[str, str]:
    if call.state in _STATES:
        at = f" in {call.call}" if call.call else ""
        one, several = _STATES[call.state]
        return one + at, several + at
    if call.waits_in:
        at = call.waits_in if has_suspect else f"{call.waits_in}, {call.call}"
        return f"waits in {at}", f"wait in {at}"
    if not call.call:
        verb = "run" if call.state == "R" else "sleep"
        why = f" ({call.untold})" if call.untold else ""
        one, several = f"{verb}s, and does not tell where", f"{verb}, and do not tell where"
        return one + why, several + why
    if call.moves:
        return f"is in {call.call}", f"are in {call.call}"
    if call.is_busy:  # it may be slow, or never return: nothing tells
        return f"is busy in {call.call}", f"are busy in {call.call}"
    return f"hangs in {call.call}", f"hang in {call.call}"
