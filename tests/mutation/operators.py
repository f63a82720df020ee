"""The table of operators: each makes small changes of one kind to a node of a syntax tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from copy import deepcopy

# A function that yields a changed copy of a node for each way to change it.
Operator = Callable[[ast.AST], Iterator[ast.AST]]

_FLIPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPPOSITE = {"max": "min", "min": "max", "any": "all", "all": "any"}
_CLEANING = ("lower", "strip", "rstrip")
# A text that the code compares, stores or answers with; all other texts are prose.
_WORD = re.compile(r"[a-z][a-z_]*(\.json)?\Z")


def comparisons(node: ast.AST) -> Iterator[ast.AST]:
    """a == b -> a != b, and so on."""
    if isinstance(node, ast.Compare):
        for index, op in enumerate(node.ops):
            changed = deepcopy(node)
            changed.ops[index] = _FLIPPED[type(op)]()
            yield changed


def connectives(node: ast.AST) -> Iterator[ast.AST]:
    """a and b -> a or b, and the other way round."""
    if isinstance(node, ast.BoolOp):
        changed = deepcopy(node)
        changed.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield changed


def conditions(node: ast.AST) -> Iterator[ast.AST]:
    """if a -> if not a, also in expressions, loops and comprehensions. `comparisons` changes a comparison."""
    if isinstance(node, (ast.If, ast.IfExp, ast.While)) and not isinstance(node.test, ast.Compare):
        changed = deepcopy(node)
        changed.test = _not(node.test)
        yield changed
    elif isinstance(node, ast.comprehension):
        for index, test in enumerate(node.ifs):
            if isinstance(test, ast.Compare):
                continue
            filtered = deepcopy(node)
            filtered.ifs[index] = _not(test)
            yield filtered


def _not(test: ast.expr) -> ast.expr:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return deepcopy(test.operand)
    return ast.UnaryOp(ast.Not(), deepcopy(test))


def constants(node: ast.AST) -> Iterator[ast.AST]:
    """1 -> 2 and 0, True -> False, "id" -> "idX"."""
    if not isinstance(node, ast.Constant):
        return
    value = node.value
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield ast.Constant(value + 1)
        yield ast.Constant(value - 1)
    elif isinstance(value, str) and _WORD.match(value):
        yield ast.Constant(f"{value}X")


def messages(node: ast.AST) -> Iterator[ast.AST]:
    """The contract's own messages: ToolError("a") -> ToolError("aX")."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "ToolError"):
        return
    changed = deepcopy(node)
    changed.args[0] = ast.BinOp(deepcopy(node.args[0]), ast.Add(), ast.Constant("X"))
    yield changed


def arithmetic(node: ast.AST) -> Iterator[ast.AST]:
    """a + b -> a - b, -a -> a."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        changed = deepcopy(node)
        changed.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
        yield changed
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield deepcopy(node.operand)


def calls(node: ast.AST) -> Iterator[ast.AST]:
    """max(a) -> min(a), a.lower() -> a."""
    if not isinstance(node, ast.Call):
        return
    if isinstance(node.func, ast.Name) and node.func.id in _OPPOSITE:
        changed = deepcopy(node)
        changed.func = ast.Name(_OPPOSITE[node.func.id], ast.Load())
        yield changed
    elif isinstance(node.func, ast.Attribute) and node.func.attr in _CLEANING:
        yield deepcopy(node.func.value)


def members(node: ast.AST) -> Iterator[ast.AST]:
    """Leave out each item of {"a": 1, **b}, [a, *b] and ("a", "b")."""
    if isinstance(node, ast.Dict):
        for index, key in enumerate(node.keys):
            if isinstance(key, ast.Constant) and key.value == "description":
                continue
            fewer = deepcopy(node)
            del fewer.keys[index], fewer.values[index]
            yield fewer
    elif isinstance(node, ast.List) or (isinstance(node, ast.Tuple) and _is_row(node)):
        for index in range(len(node.elts)):
            shorter = deepcopy(node)
            del shorter.elts[index]
            yield shorter


def _is_row(node: ast.Tuple) -> bool:
    """Return whether a tuple is a table. Any other tuple is unpacked, which would only crash with fewer items."""
    return len(node.elts) > 1 and all(isinstance(item, (ast.Constant, ast.Starred, ast.Tuple)) for item in node.elts)


def orders(node: ast.AST) -> Iterator[ast.AST]:
    """for x in (a, b) -> for x in (b, a)."""
    if not isinstance(node, (ast.For, ast.comprehension)) or not isinstance(node.iter, (ast.Tuple, ast.List)):
        return
    if len(node.iter.elts) > 1:
        changed = deepcopy(node)
        changed.iter.elts.reverse()  # type: ignore[attr-defined]
        yield changed


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Leave out a call, a raise, or an assignment to an item; return None instead of a value."""
    called = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    put = isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript)
    if called or put or isinstance(node, (ast.Raise, ast.AugAssign, ast.Continue)):
        yield ast.Pass()
    elif isinstance(node, ast.Return) and not _is_none(node.value):
        yield ast.Return(ast.Constant(None))


def _is_none(node: ast.expr | None) -> bool:
    return node is None or (isinstance(node, ast.Constant) and node.value is None)


OPERATORS: tuple[Operator, ...] = (
    comparisons,
    connectives,
    conditions,
    constants,
    messages,
    arithmetic,
    calls,
    members,
    orders,
    statements,
)
