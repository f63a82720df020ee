"""Changes of a YAML value with its comments, as ruamel.yaml has it, or of a plain one.

ruamel.yaml keeps whatever follows a leaf with that leaf: the comment on its line, and all comments up to the next
one. So what is put behind the last leaf of a collection has to take those over, or it would end up below them.
"""

from __future__ import annotations

from typing import Any

from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import CommentMark
from ruamel.yaml.scalarstring import DoubleQuotedScalarString
from ruamel.yaml.tokens import CommentToken

# Where ruamel.yaml has what follows an item, in the list that it keeps for it.
_BEHIND_ITEM, _BEHIND_VALUE = 0, 2


def append(items: list[Any], item: str) -> None:
    """Add an item at the end of a list, unless it is there: somebody else may have added it meanwhile."""
    if item in items:
        return
    tail = _take(items)
    if isinstance(items, CommentedSeq) and not items:
        items.fa.set_flow_style()  # as [] is written
    items.append(_scalar(item) if isinstance(items, CommentedSeq) else item)
    _give(items, tail)


def put(members: dict[str, Any], name: str, value: Any) -> None:
    """Add a member that is not there yet at the end: a list, on one line, or an object."""
    tail = _take(members)
    members[name] = _with_comments(value) if isinstance(members, CommentedMap) else value
    _give(members, tail)


def take_out(items: list[Any], item: str) -> None:
    """Remove an item of a list and the comment on its line; what follows stays behind the item before.

    One that is not there is gone already.
    """
    if item not in items:
        return
    at = items.index(item)
    token = _token(items, at) if isinstance(items, CommentedSeq) else None
    rest = _split(token) if token is not None else ""
    del items[at]
    if rest.strip() and at:
        _add(items, at - 1, rest)


def remove(members: dict[str, Any], name: str) -> None:
    """Remove a member; what follows its last line stays, behind the member before."""
    at, keys = list(members).index(name), list(members)
    token = _token(*_end(members, name)) if isinstance(members, CommentedMap) else None
    rest = _split(token) if token is not None else ""
    del members[name]
    if rest.strip() and at:
        _add(*_end(members, keys[at - 1]), rest)


def _end(members: Any, name: str) -> tuple[Any, Any]:
    """The collection of the last leaf of a member, and its key or index there."""
    return (None if _is_flow(members[name]) else _leaf(members[name])) or (members, name)


def _with_comments(value: Any) -> Any:
    if isinstance(value, dict):
        made = CommentedMap()
        for name, member in value.items():
            made[name] = _with_comments(member)
        return made
    if isinstance(value, list):
        items = CommentedSeq(_with_comments(item) for item in value)
        items.fa.set_flow_style()
        return items
    return _scalar(value)


def _scalar(value: Any) -> Any:
    """A text so that a reader of YAML 1.1 takes it for one, too: there `on` is a truth value."""
    if not isinstance(value, str):
        return value
    import yaml

    try:
        is_plain = yaml.safe_load(value) == value
    except yaml.YAMLError:
        is_plain = False
    return value if is_plain else DoubleQuotedScalarString(value)


def _leaf(collection: Any) -> tuple[Any, Any] | None:
    """(the collection of the last leaf, its key or index there); None where there is no leaf, or no comments."""
    if not isinstance(collection, (CommentedMap, CommentedSeq)) or not collection:
        return None
    key = list(collection)[-1] if isinstance(collection, CommentedMap) else len(collection) - 1
    below = collection[key]
    deeper = _leaf(below) if not _is_flow(below) else None
    return deeper or (collection, key)


def _is_flow(value: Any) -> bool:
    return isinstance(value, (CommentedMap, CommentedSeq)) and bool(value.fa.flow_style())


def _take(collection: Any) -> str:
    """What follows the line of the last leaf, which has it no more."""
    if _is_flow(collection):
        return ""
    leaf = _leaf(collection)
    token = None if leaf is None else _token(*leaf)
    return "" if token is None else _split(token)


def _give(collection: Any, tail: str) -> None:
    leaf = _leaf(collection) if tail else None
    if leaf is not None:
        _add(*leaf, tail)


def _token(collection: Any, key: Any) -> CommentToken | None:
    kept = collection.ca.items.get(key)
    found = None if kept is None else kept[_slot(collection)]
    return found if isinstance(found, CommentToken) else None


def _split(token: CommentToken) -> str:
    """Leave the comment on the line itself with the token, and return the rest."""
    first, newline, rest = token.value.partition("\n")
    token.value = first + newline
    return rest


def _add(collection: Any, key: Any, rest: str) -> None:
    token = _token(collection, key)
    if token is not None:
        token.value = token.value.rstrip("\n") + "\n" + rest
        return
    kept = collection.ca.items.setdefault(key, [None, None, None, None])
    kept[_slot(collection)] = CommentToken("\n" + rest, CommentMark(0), None)


def _slot(collection: Any) -> int:
    return _BEHIND_ITEM if isinstance(collection, CommentedSeq) else _BEHIND_VALUE
