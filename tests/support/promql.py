"""PromQL taken apart: which series an expression reads, by which labels, and by which function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import promql_parser
from promql_parser import AggregateExpr, BinaryExpr, Call, MatrixSelector, VectorSelector

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Read:
    """A selector of an expression."""

    name: str
    labels: frozenset[str]
    function: str | None = None  # rate, increase, changes, ...: whatever is given a range of it


def reads(expression: str) -> list[Read]:
    """Return every selector of an expression; ValueError if it is not PromQL.

    >>> [(read.name, read.function) for read in reads('sum(rate(a_total{b="c"}[1m])) / d')]
    [('a_total', 'rate'), ('d', None)]
    """
    return list(_walk(promql_parser.parse(expression), None))


def _walk(node: Any, function: str | None) -> Iterator[Read]:
    if isinstance(node, VectorSelector):
        yield Read(node.name or "", frozenset(m.name for m in node.matchers.matchers))
    elif isinstance(node, MatrixSelector):
        inner = node.vector_selector
        yield Read(inner.name or "", frozenset(m.name for m in inner.matchers.matchers), function)
    elif isinstance(node, Call):
        for argument in node.args:
            yield from _walk(argument, node.func.name)
    else:
        for child in _children(node):
            yield from _walk(child, function)


def _children(node: Any) -> list[Any]:
    if isinstance(node, BinaryExpr):
        return [node.lhs, node.rhs]
    if isinstance(node, AggregateExpr):
        return [node.expr, *([node.param] if node.param is not None else [])]
    return [node.expr] if hasattr(node, "expr") else []  # parentheses, signs, subqueries; literals have none
