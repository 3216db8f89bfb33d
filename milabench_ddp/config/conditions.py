"""Conditions such as ``len(nodes) >= 2``: a small grammar, parsed and never evaluated as code.

Literals, the names below, ``len(nodes)``, ``gpu['count']``, comparisons (also chained), ``and``,
``or``, ``not`` and parentheses; nothing else.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import ConfigError, did_you_mean
from .facts import MachineFacts
from .tree import Origin

_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


@dataclass(frozen=True)
class ConditionResult:
    """Whether a condition holds, and the values that decided it."""

    holds: bool
    values: Mapping[str, Any]  # by the source text of each name


def evaluate(condition: str, facts: MachineFacts, origin: Origin) -> ConditionResult:
    """Evaluate a condition; raises ConfigError where it is outside the grammar."""
    return _Evaluator(condition, facts, origin).result()


class _Evaluator:
    def __init__(self, condition: str, facts: MachineFacts, origin: Origin) -> None:
        self.condition = condition
        self.origin = origin
        self.used: dict[str, Any] = {}
        self.names: dict[str, Any] = {
            "arch": facts.arch,
            "cpu": {"count": facts.cpu_count},
            "gpu": {
                "count": facts.gpu_count,
                "capacity": facts.gpu_capacity_mib,
                "name": facts.device_name,
            },
            "nodes": range(facts.node_count),
        }

    def result(self) -> ConditionResult:
        try:
            tree = ast.parse(self.condition.strip(), mode="eval")
        except (SyntaxError, ValueError):  # ValueError: a null byte
            raise self.error("it is malformed") from None
        value = self.value(tree.body)
        if not isinstance(value, bool):
            raise self.error("it is neither true nor false")
        return ConditionResult(value, self.used)

    def value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=bool() | int() | float() | str()):
                return node.value
            case ast.UnaryOp(op=ast.Not()):
                return not self.truth(node.operand)
            case ast.BoolOp():
                decide = all if isinstance(node.op, ast.And) else any
                return decide(self.truth(part) for part in node.values)
            case ast.Compare():
                return self.compare(node)
        value = self.named(node)
        self.used[ast.unparse(node)] = value
        return value

    def named(self, node: ast.expr) -> Any:
        """The value of ``len(nodes)``, ``gpu['count']`` or a name."""
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)], keywords=[]):
                found = self.look_up(name)
                if not isinstance(found, range):
                    raise self.error(f"`{name}` has no length")
                return len(found)
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))):
                found = self.look_up(name)
                if not isinstance(found, dict) or key not in found:
                    raise self.error(f"`{name}` has no `{key}`")
                return found[key]
            case ast.Name(id=name):
                found = self.look_up(name)
                if isinstance(found, str):
                    return found
        raise self.error(
            f"`{ast.unparse(node)}` is not understood; conditions are such as "
            "`len(nodes) >= 2` and `gpu['count'] > 1`"
        )

    def compare(self, node: ast.Compare) -> bool:
        operands = [self.value(part) for part in (node.left, *node.comparators)]
        pairs = zip(operands, operands[1:], node.ops, strict=False)
        try:
            return all(_COMPARE[type(op)](left, right) for left, right, op in pairs)
        except (KeyError, TypeError):
            raise self.error(f"`{ast.unparse(node)}` compares what cannot be compared") from None

    def truth(self, node: ast.expr) -> bool:
        value = self.value(node)
        if not isinstance(value, bool):
            raise self.error(f"`{ast.unparse(node)}` is neither true nor false")
        return value

    def look_up(self, name: str) -> Any:
        if name not in self.names:
            raise self.error(f"unknown name `{name}`{did_you_mean(name, {*self.names, 'len'})}")
        return self.names[name]

    def error(self, reason: str) -> ConfigError:
        return ConfigError(f"the condition `{self.condition}` in {self.origin}: {reason}")
