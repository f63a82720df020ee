"""Give a plain YAML scalar its type by the core schema of YAML 1.2.2 (section 10.3), and nothing beyond it.

PyYAML resolves by YAML 1.1: `off` is false, `010` is 8, `1:30` is 90, and a long base-60 number takes minutes. Here
`true` and `false` are the only booleans. A number that YAML 1.1 and 1.2 read differently is refused.
"""

from __future__ import annotations

import re

LONGEST_NUMBER = 64
"""Characters of a number. Python takes time in proportion to the square of its digits."""
_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_FIRST = frozenset("+-.0123456789")
_INTEGER = re.compile(r"[-+]?[0-9]++\Z|0o[0-7]++\Z|0x[0-9a-fA-F]++\Z")
_DECIMAL = re.compile(r"[-+]?(?:\.[0-9]++|[0-9]++(?:\.[0-9]*+)?)(?:[eE][-+]?[0-9]++)?\Z")
_INFINITE = frozenset(sign + word for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF"))
_NAN = frozenset((".nan", ".NaN", ".NAN"))
_LEADING_ZERO = re.compile(r"[-+]?0[0-9_]++\Z")
_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*+(?::[0-9]{1,2}+)++(?:\.[0-9_]*+)?\Z")


class Refused(ValueError):
    """A scalar that has no one meaning. The text says why, and has nothing of the scalar."""


def value_of(text: str) -> str | int | float | bool | None:
    """Return what the plain scalar `text` means. Raises Refused."""
    if text in _NULL:
        return None
    if text[0] not in _FIRST:
        return _BOOLEANS.get(text, text)
    if text in _INFINITE:
        return float(text.replace(".", ""))
    if text in _NAN:
        return float("nan")
    if _BASE_60.match(text):
        raise Refused("a number in base 60, which YAML 1.2 does not have: put it between quotation marks")
    if _LEADING_ZERO.match(text):
        raise Refused("a number with a leading zero: write it without, or put it between quotation marks")
    is_integer = _INTEGER.match(text) is not None
    if not is_integer and _DECIMAL.match(text) is None:
        return text
    if len(text) > LONGEST_NUMBER:
        raise Refused("a number that cannot be read")
    if is_integer:
        return int(text, 0 if text[:2] in ("0o", "0x") else 10)
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise Refused("a number that cannot be read")
    return number
