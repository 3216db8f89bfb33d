"""The facts of a machine, and conditions on them, such as ``len(nodes) >= 2``.

A condition has a small grammar: it is parsed, and never evaluated as code.

It has literals, the terms of `evaluate`, comparisons (also chained), ``and``, ``or``, ``not`` and
parentheses, and nothing else.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from warnings import catch_warnings

from msgspec import Struct

from ..errors import did_you_mean
from ..machine.backends import BACKENDS
from .limits import CONDITION
from .mistakes import MistakeError
from .tree import Origin, Scalar

_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_EXAMPLES = "; examples of conditions: `len(nodes) >= 2`, `ranks > 1`"


class MachineFacts(Struct, frozen=True):
    """Facts of one node (all nodes are alike) and the folder of all data and runs."""

    arch: str  # cuda, rocm, hpu, xpu or cpu
    node_count: int
    gpu_count: int  # devices of a node: GPUs, or CPU slots
    cpu_count: int  # CPUs of a node
    device_name: str
    gpu_capacity_mib: float  # memory of one device; 0 where it is not known
    base: Path
    gpu_capability: float = 0.0  # CUDA's, such as 9.0; 0 where it is not known

    @property
    def ccl(self) -> str:
        return BACKENDS[self.arch].collectives

    @property
    def cpu_per_gpu(self) -> int:
        return max(1, self.cpu_count // max(1, self.gpu_count))


class ConditionResult(Struct, frozen=True):
    """Whether a condition holds, and the values that decided it."""

    holds: bool
    values: Mapping[str, Scalar]  # by term


def evaluate(
    condition: str, facts: MachineFacts, origin: Origin, nodes: int | None = None
) -> ConditionResult:
    """Evaluate a condition of a job on some ``nodes``, by default on all.

    Raises ConfigError if it is outside the grammar, or too long.
    """
    if len(condition) > CONDITION:
        raise MistakeError(
            f"the condition `{condition[:40]}...` in {origin} has {len(condition):,} characters, "
            f"and may have {CONDITION}: split it",
            origin,
        )
    where = f"the condition `{condition}` in {origin}"
    terms: dict[str, Scalar] = {  # as ``ast.unparse`` writes them
        "arch": facts.arch,
        "cpu['count']": facts.cpu_count,
        "gpu['capability']": facts.gpu_capability,
        "gpu['capacity']": facts.gpu_capacity_mib,
        "gpu['count']": facts.gpu_count,
        "gpu['name']": facts.device_name,
        "len(nodes)": facts.node_count,
        "ranks": facts.gpu_count * (nodes or facts.node_count),
    }
    evaluator = _Evaluator(terms, where, origin)
    try:
        with catch_warnings(action="ignore"):  # of Python, about such as `1or 2`
            tree = ast.parse(condition.strip(), mode="eval")
        return ConditionResult(evaluator.truth(tree.body), evaluator.used)
    except (SyntaxError, ValueError):  # ValueError: a null byte, or a number of 5,000 digits
        raise MistakeError(f"{where}: it is malformed", origin) from None
    except (RecursionError, MemoryError):  # MemoryError: the parser's word for the same
        raise MistakeError(f"{where}: it is nested too deeply", origin) from None


class _Evaluator(Struct):
    terms: Mapping[str, Scalar]
    where: str
    origin: Origin
    used: dict[str, Scalar] = {}

    def truth(self, node: ast.expr) -> bool:
        value = self.value(node)
        if not isinstance(value, bool):
            raise MistakeError(
                f"{self.where}: `{ast.unparse(node)}` is neither true nor false", self.origin
            )
        return value

    def value(self, node: ast.expr) -> object:
        match node:
            case ast.Constant(value=bool() | int() | float() | str()):
                return node.value
            case ast.UnaryOp(op=ast.Not()):
                return not self.truth(node.operand)
            case ast.BoolOp(op, parts):
                holds = all if isinstance(op, ast.And) else any
                return holds(self.truth(part) for part in parts)
            case ast.Compare(left, ops, others):
                values = [self.value(part) for part in (left, *others)]
                try:
                    pairs = zip(ops, values, values[1:], strict=False)
                    return all(_COMPARE[type(op)](one, other) for op, one, other in pairs)
                except (KeyError, TypeError):
                    raise MistakeError(
                        f"{self.where}: `{ast.unparse(node)}` compares values that cannot be "
                        "compared",
                        self.origin,
                    ) from None
        term = ast.unparse(node)
        if term not in self.terms:
            hint = did_you_mean(term, self.terms) or _EXAMPLES
            raise MistakeError(
                f"{self.where}: `{term}` is not a known term{hint}", self.origin, term
            )
        self.used[term] = self.terms[term]
        return self.used[term]
