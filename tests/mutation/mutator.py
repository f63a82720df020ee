"""All mutations of a module: each changes one node of its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.mutation.operators import OPERATORS

# Other tests compare what a tool advertises with docs/tools.md and the reference validator; no fixture checks it.
_ADVERTISED = ("name", "title", "description", "output", "classes", "destructive", "idempotent", "summary")
_SHOWN = 70


@dataclass(frozen=True)
class Mutation:
    """A change of one node. `change` describes it: "a == b -> a != b"; `tree` is the changed module.

    `function` is the function around the node, such as "run" or "Records.apply"; "" outside of functions.
    """

    line: int
    change: str
    tree: ast.Module
    function: str = ""


def mutations(source: str) -> Iterator[Mutation]:
    """Yield every mutation of a module, in the order of its text."""
    tree = ast.parse(source)
    functions = dict(_functions(tree))
    for parent, name, index, node in _places(tree):
        for operator in OPERATORS:
            for changed in operator(node):
                line = getattr(node, "lineno", getattr(parent, "lineno", 0))
                for part in ast.walk(changed):
                    ast.copy_location(part, node if hasattr(node, "lineno") else parent)
                _put(parent, name, index, changed)
                try:
                    yield Mutation(line, _change(node, changed), tree, functions.get(line, ""))
                finally:
                    _put(parent, name, index, node)


def _functions(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield each line of a function with its name; a function in a function belongs to the outer one."""
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef):
            methods = [
                (f"{statement.name}.{one.name}", one) for one in statement.body if isinstance(one, ast.FunctionDef)
            ]
        else:
            methods = [(statement.name, statement)] if isinstance(statement, ast.FunctionDef) else []
        for name, one in methods:
            yield from ((line, name) for line in range(one.lineno, (one.end_lineno or one.lineno) + 1))


def _places(node: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Yield (parent, field, index in the field, node) for each node below `node` that may change."""
    for name, value in ast.iter_fields(node):
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            # Items of a dict are left out one by one, so their keys need no change of their own.
            if isinstance(child, ast.AST) and not _is_left_alone(node, name, child):
                yield node, name, index, child
                yield from _places(child)


def _is_left_alone(parent: ast.AST, name: str, child: ast.AST) -> bool:
    """Return whether a node is an annotation, a docstring, a log call, code for the type checker, or an advertised
    text.
    """
    if name in ("annotation", "returns") or isinstance(child, (ast.Import, ast.ImportFrom)):
        return True
    if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
        return True
    if isinstance(child, ast.Expr) and ast.unparse(child).startswith("log."):
        return True
    if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
        return True
    if isinstance(child, ast.Assign) and ast.unparse(child.targets[0]) in ("TYPE_CHECKING", "__slots__"):
        return True
    if isinstance(child, ast.keyword) and _is_definition(parent):
        return child.arg in _ADVERTISED
    return isinstance(parent, ast.Dict) and (name == "keys" or _key_of(parent, child) == "description")


def _is_definition(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("Tool", "Event")


def _key_of(parent: ast.Dict, child: ast.AST) -> Any:
    return next((_constant(key) for key, value in zip(parent.keys, parent.values, strict=True) if value is child), None)


def _constant(node: ast.AST | None) -> Any:
    return node.value if isinstance(node, ast.Constant) else None


def _put(parent: ast.AST, name: str, index: int | None, node: ast.AST) -> None:
    if index is None:
        setattr(parent, name, node)
    else:
        getattr(parent, name)[index] = node


def _change(node: ast.AST, changed: ast.AST) -> str:
    if isinstance(changed, ast.Pass):
        return f"{_text(node)} left out"
    if isinstance(node, (ast.Dict, ast.List, ast.Tuple)) and isinstance(changed, type(node)):
        whole, fewer = _members(node), _members(changed)
        index = next((i for i, pair in enumerate(zip(whole, fewer, strict=False)) if pair[0] != pair[1]), len(fewer))
        return f"{_cut(whole[index])} left out of {_text(node)}"
    return f"{_text(node)} -> {_text(changed)}"


def _members(node: ast.Dict | ast.List | ast.Tuple) -> list[str]:
    if not isinstance(node, ast.Dict):
        return [ast.unparse(item) for item in node.elts]
    pairs = zip(node.keys, node.values, strict=True)
    return [ast.unparse(key) if key else f"**{ast.unparse(value)}" for key, value in pairs]


def _text(node: ast.AST) -> str:
    return _cut(" ".join(ast.unparse(node).split("\n")[0].split()))


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
