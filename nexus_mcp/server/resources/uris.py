"""The URIs of resources: the forms of RFC 6570 templates that ours have, matched and filled in.

A template is text with one variable at most at its end, `{name}` (one segment) or `{+path}` (with slashes), or one
list of query parameters, `{?a,b}`.
"""

from __future__ import annotations

from urllib.parse import quote, unquote_to_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


class BadUri(Exception):
    """A URI of ours that cannot be understood; the text says why."""


class Template:
    """`variable` is "" where the URI has none; `query` are the names of its parameters, all optional."""

    __slots__ = ("_prefix", "_with_slashes", "query", "text", "variable")

    def __init__(self, text: str) -> None:
        self.text = text
        path, _, query = text.partition("{?")
        self._prefix, _, variable = path.partition("{")
        self._with_slashes = variable.startswith("+")
        self.variable = variable.removeprefix("+").removesuffix("}")
        self.query = tuple(query.removesuffix("}").split(",")) if query else ()

    @property
    def variables(self) -> tuple[str, ...]:
        return (self.variable, *self.query) if self.variable else self.query

    def match(self, uri: str) -> dict[str, str] | None:
        """The values of the variables in a URI that has this form, None for another one. Raises BadUri."""
        path, mark, query = (uri, "", "") if self._with_slashes else uri.partition("?")
        if not path.startswith(self._prefix):
            return None
        rest = path[len(self._prefix) :]
        values = {}
        if self.variable:
            if not rest or ("/" in rest and not self._with_slashes):
                return None
            values[self.variable] = _decoded(rest)
        elif rest:
            return None
        if mark and not self.query:
            return None
        for part in query.split("&") if query else ():
            name, equals, value = part.partition("=")
            if not equals or name not in self.query or name in values:
                raise BadUri(f"its query may have {' and '.join(self.query)}, each once and with a value")
            values[name] = _decoded(value.replace("+", " "))  # as forms write a blank; a template makes it %20
        return values

    def filled(self, values: Mapping[str, str]) -> str:
        """The URI for these values; parameters that have none are left out. Raises UnicodeEncodeError."""
        safe = "/" if self._with_slashes else ""
        path = self._prefix + (quote(values[self.variable], safe=safe) if self.variable else "")
        asked = "&".join(f"{name}={quote(values[name], safe='')}" for name in self.query if name in values)
        return f"{path}?{asked}" if asked else path


def _decoded(text: str) -> str:
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeError:
        raise BadUri("what is escaped in it is not UTF-8") from None
