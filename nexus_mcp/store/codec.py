"""Read and write state files as JSON: strict when reading, one layout when writing.

The C reader does not report the position of a value that only nexus-mcp refuses, so `locate` reads the text again,
token by token, for the error message.
"""

from __future__ import annotations

import json
import re
from json import JSONDecodeError

from nexus_mcp.errors import StateError
from nexus_mcp.wording import line_and_column, place_in, place_of_byte

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

# A plan is two levels deeper in a journal and three in history.json, and both files must stay readable.
SESSION_DEPTH = 64
ARCHIVE_DEPTH = 128
# In a journal a cycle is nested one level less deep than in history.json.
JOURNAL_DEPTH = ARCHIVE_DEPTH - 1
BOM = "\ufeff"
MAX_DIGITS = 4300  # the most digits that Python turns into an int


class Invalid(ValueError):
    """JSON that the grammar or Python's reader allows, but nexus-mcp does not.

    The message is the reason. `kind` is the fault that `locate` searches for, "" if it has no single place.
    """

    def __init__(self, problem: str, kind: str = "") -> None:
        super().__init__(problem)
        self.kind = kind


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise Invalid("has an object with the same key twice", "key")
    return value


def _constant(_: str) -> NoReturn:
    raise Invalid("has NaN or Infinity, which JSON does not know", "constant")


def parse_finite(text: str) -> float:
    """Return the number in `text`. Raise Invalid if no float can hold it."""
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise Invalid("has a number that is too large", "number")
    return value


def strict_decoder(
    parse_float: Callable[[str], float] = parse_finite, parse_int: Callable[[str], float] | None = None
) -> json.JSONDecoder:
    """Return a decoder that refuses JSON which two readers could read differently."""
    return json.JSONDecoder(
        object_pairs_hook=_object, parse_constant=_constant, parse_float=parse_float, parse_int=parse_int
    )


STRICT = strict_decoder()
_NEAR = 4096  # the number of characters around a fault in which a comma before a closing bracket is searched
COMPACT = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False)
_quoted = json.encoder.encode_basestring


def decode(data: bytes, file: str, depth: int = SESSION_DEPTH) -> Any:
    """Return the JSON value in `data`, nested at most `depth` levels deep. Raise StateError, with the place of the
    fault if it has one. `file` is the name of the file in the message.
    """
    text = decode_text(data, file).removeprefix(BOM)
    return parse_guarded(text, file, lambda: STRICT.decode(text), depth)


def decode_text(data: bytes, file: str, advice: str = "") -> str:
    """Return `data` as text. Raise StateError if it is empty or not UTF-8; `advice` is that of `parse_guarded`."""
    if not data.strip():
        raise StateError(file, "is empty", next_step=advice)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        where = place_of_byte(data, error.start)
        raise StateError(file, "is not UTF-8", where=where, next_step=advice) from error


def parse_guarded(text: str, file: str, parse: Callable[[], Any], depth: int, advice: str = "") -> Any:
    """Return the result of `parse()`. Raise StateError for every way in which reading `text` can fail.

    `advice` is the next step for a text that is no JSON, or has conflict markers; "" for the usual one.
    """
    try:
        value = parse()
    except JSONDecodeError as error:
        raise _syntax_error(text, file, error, advice) from error
    except Invalid as error:
        raise _refusal(text, file, str(error), error.kind, depth) from error
    except RecursionError as error:
        raise _refusal(text, file, "is nested too deeply", "depth", depth) from error
    except ValueError as error:
        raise _refusal(text, file, "has a number with too many digits", "digits", depth) from error
    if is_too_deep(value, depth):
        raise _refusal(text, file, "is nested too deeply", "depth", depth)
    return value


def _refusal(text: str, file: str, problem: str, kind: str, depth: int) -> StateError:

    position = locate(text, kind, depth) if kind else None
    return StateError(file, problem, where="" if position is None else place_in(text, position))


def _syntax_error(text: str, file: str, error: JSONDecodeError, advice: str) -> StateError:

    lined = "\n" + text  # searched as one text, because there may be millions of lines
    markers = [at for at in (lined.find("\n<<<<<<< "), lined.find("\n>>>>>>> ")) if at >= 0]
    if markers:
        advice = advice or f"Resolve the merge of {file} in git, then call again."
        line, _ = line_and_column(text, min(markers))
        return StateError(file, "has git conflict markers", where=f"line {line}", next_step=advice)
    position, problem = json_fault(error)
    where = place_in(text, position)
    return StateError(file, problem, where=where, next_step=advice)


def json_fault(error: JSONDecodeError) -> tuple[int, str]:
    """Return (position, problem) of a text that is no JSON. A comma before a closing bracket has its own message."""
    text, at = error.doc, error.pos
    if text[at : at + 1] == ",":  # newer versions of Python report the comma, older ones the bracket
        after = text[at + 1 : at + _NEAR].lstrip()
    else:
        before, after = text[max(0, at - _NEAR) : at].rstrip(), text[at : at + 1]
        at = max(0, at - _NEAR) + len(before) - 1 if before.endswith(",") else -1
    if at >= 0 and after[:1] in ("]", "}") and after:
        return at, "is not JSON (a comma before a closing bracket)"
    return error.pos, f"is not JSON ({error.msg})"


def is_too_deep(value: object, limit: int) -> bool:
    """Return whether containers are nested more than `limit` levels deep, without recursion."""
    level: list[Any] = [value] if isinstance(value, (dict, list)) else []
    for _ in range(limit):
        if not level:
            return False
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (dict, list))
        ]
    return bool(level)


def encode(value: object) -> bytes:
    """Return `value` as a state file holds it: indented by two spaces, non-ASCII unescaped, one newline at the end.

    Lone surrogates become escapes. Raise ValueError for NaN, infinity, and an integer with too many digits.
    """
    return encode_part(value) + b"\n"


def encode_part(value: object, margin: str = "\n") -> bytes:
    """Return the bytes of `encode` without the newline at the end. `margin` begins each line after the first."""
    return encode_utf8(pretty(value, margin))


def encode_utf8(text: str) -> bytes:
    """Return JSON text in UTF-8, with lone surrogates as escapes."""
    return text.encode("utf-8", "backslashreplace")


def pretty(value: object, margin: str = "\n") -> str:
    """Return `value` as indented JSON text, without a newline at the end. `margin` begins each line after the first.

    The result is that of json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False), which is slower, because its
    C encoder cannot indent. Raise the errors of `encode`.
    """
    if isinstance(value, str):
        return _quoted(value)
    if type(value) is int:
        return int.__repr__(value)
    if isinstance(value, dict):
        inner = f"{margin}  "
        lines = [
            f"{_quoted(name)}: {_quoted(member) if isinstance(member, str) else pretty(member, inner)}"
            for name, member in value.items()
        ]
        return f"{{{inner}{f',{inner}'.join(lines)}{margin}}}" if lines else "{}"
    if isinstance(value, list):
        inner = f"{margin}  "
        lines = [pretty(item, inner) for item in value]
        return f"[{inner}{f',{inner}'.join(lines)}{margin}]" if lines else "[]"
    return COMPACT.encode(value)


def compact(value: object) -> str:
    """Return `value` as JSON text without insignificant white space, non-ASCII unescaped."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return int.__repr__(value) if type(value) is int else COMPACT.encode(value)


def without_surrogates(text: str) -> str:
    """Return `text`, with U+FFFD in place of lone surrogates, so that it can be encoded."""
    try:
        if not text.isascii():
            text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


KEY, CONSTANT, NUMBER, DIGITS, DEPTH = "key", "constant", "number", "digits", "depth"
# Possessive quantifiers: with greedy ones a long string takes 100 bytes of memory per character, and an unterminated
# string takes quadratic time.
_LEXEME = r'(?s)"(?:[^"\\]++|\\.)*+(")?|[{}\[\],:]|[^\s{}\[\],:"]++'  # compiled only after an error


def locate(text: str, kind: str, depth: int) -> int | None:
    """Return the position of the first fault of this `kind`: a repeated KEY, a CONSTANT that is NaN or infinite, a
    NUMBER that no float holds, an integer with too many DIGITS, or a container nested more than `depth` levels deep
    (DEPTH). Return None if the text has no such fault, or if it has an unterminated string, or a bracket that closes no
    container, before the fault.
    """
    keys: list[set[str] | None] = []  # for each open container: the keys of an object, None for an array
    previous = ""
    for token in re.finditer(_LEXEME, text):
        word = token[0]
        if word[0] == '"' and token[1] is None:
            return None
        if word in ("{", "["):
            keys.append(set() if word == "{" else None)
            if kind == DEPTH and len(keys) > depth:
                return token.start()
        elif word in ("}", "]"):
            if not keys:
                return None
            keys.pop()
        elif word[0] == '"':
            if kind == KEY and previous in ("{", ",") and keys and _is_repeated(word, keys[-1]):
                return token.start()
        elif word not in (",", ":") and _is_refused(kind, word):
            return token.start()
        previous = word
    return None


def _is_repeated(word: str, known: set[str] | None) -> bool:
    if known is None:
        return False
    name = _decoded_key(word)
    repeated = name in known
    known.add(name)
    return repeated


def _decoded_key(word: str) -> str:
    import json

    try:
        return str(json.loads(word))
    except ValueError:
        return word


def _is_refused(kind: str, word: str) -> bool:
    if kind == CONSTANT:
        return word in ("NaN", "Infinity", "-Infinity")
    digits = word.lstrip("-")
    if kind == DIGITS:
        return digits.isdigit() and len(digits) > MAX_DIGITS
    if kind != NUMBER or not digits[:1].isdigit() or digits.isdigit():
        return False
    try:
        return float(word) in (float("inf"), float("-inf"))
    except ValueError:
        return False
