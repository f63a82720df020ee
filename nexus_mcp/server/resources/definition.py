"""Define what all resources share: URI template, read context, content, list entry, kind, and files below .nexus.

Only the forms of RFC 6570 that our URIs use are supported: at most one variable, `{name}` (one segment) or, at the end,
`{+path}` (with slashes), or one list of query parameters, `{?a,b}`.
"""

from __future__ import annotations

import os
import stat
from contextlib import ExitStack, suppress
from urllib.parse import quote, unquote_to_bytes

from nexus_mcp import log
from nexus_mcp.errors import NexusError, PathRefused, StateError
from nexus_mcp.state import artifact_name
from nexus_mcp.state.oplog import By
from nexus_mcp.store import atomic, paths
from nexus_mcp.store.codec import compact
from nexus_mcp.tools.definition import ToolContext

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.store.folder import Folder
    from nexus_mcp.store.store import Store
    from nexus_mcp.workspace import Workspace

    Values = dict[str, str]


class BadUri(Exception):
    """A malformed URI of one of our resources; the text is the reason."""


class Template:
    """A URI template. `variable` is "" if the template has none; `query` names its parameters, all optional."""

    __slots__ = ("_prefix", "_suffix", "_with_slashes", "query", "text", "variable")

    def __init__(self, text: str) -> None:
        self.text = text
        path, _, query = text.partition("{?")
        self._prefix, _, rest = path.partition("{")
        variable, _, self._suffix = rest.partition("}")
        self._with_slashes = variable.startswith("+")
        self.variable = variable.removeprefix("+")
        self.query = tuple(query.removesuffix("}").split(",")) if query else ()

    @property
    def variables(self) -> tuple[str, ...]:
        return (self.variable, *self.query) if self.variable else self.query

    def match(self, uri: str) -> dict[str, str] | None:
        """Return the variables' values in a URI of this form; None for another form. Raise BadUri."""
        path, mark, query = (uri, "", "") if self._with_slashes else uri.partition("?")
        if not path.startswith(self._prefix) or not path.endswith(self._suffix):
            return None
        rest = path[len(self._prefix) :].removesuffix(self._suffix)
        values = {}
        if self.variable:
            if not rest or ("/" in rest and not self._with_slashes):
                return None
            values[self.variable] = _decode(rest)
        elif rest:
            return None
        if mark and not self.query:
            return None
        for part in query.split("&") if query else ():
            name, equals, value = part.partition("=")
            if not equals or name not in self.query or name in values:
                raise BadUri(f"its query may have {' and '.join(self.query)}, each once and with a value")
            values[name] = _decode(value.replace("+", " "))  # HTML forms encode a blank as +, URI templates as %20
        return values

    def fill(self, values: Mapping[str, str]) -> str:
        """Return the URI for these values; parameters without a value are left out. Raise UnicodeEncodeError."""
        safe = "/" if self._with_slashes else ""
        path = self._prefix + (quote(values[self.variable], safe=safe) if self.variable else "") + self._suffix
        query = "&".join(f"{name}={quote(values[name], safe='')}" for name in self.query if name in values)
        return f"{path}?{query}" if query else path


def _decode(text: str) -> str:
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeError:
        raise BadUri("its escapes are not UTF-8") from None


JSON = "application/json"
MARKDOWN = "text/markdown"
LIMIT = 4 << 20
"""The maximum size in bytes of a note or artifact that is read: as much as fits into one input line."""
SIZED = 1 << 20
"""The maximum size in bytes of a file that is read only to list the size of its resource."""


class Missing(Exception):
    """The resource does not exist. `detail` is the reason, or ""."""

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail)
        self.detail = detail


class ResourceRefused(Exception):
    """The URI is invalid, independent of the files; the text is the reason."""


class ReadContext:
    """The context of a request that reads: the workspace, its store and the client.

    `prefix` precedes the names of tools; `is_modern` is true for protocol version 2026-07-28. `noting`, by
    default `store`, is a Store of the same workspace with a short lock timeout, for access counts. The catalog is read
    at most once per request.
    """

    __slots__ = ("_catalog", "client_name", "is_modern", "noting", "prefix", "store", "workspace")

    def __init__(
        self,
        workspace: Workspace,
        store: Store,
        prefix: str,
        client_name: str,
        *,
        is_modern: bool = True,
        noting: Store | None = None,
    ) -> None:
        self.workspace = workspace
        self.store = store
        self.noting = noting or store
        self.prefix = prefix
        self.client_name = client_name
        self.is_modern = is_modern
        self._catalog: Catalog | None = None

    def catalog(self) -> Catalog:
        """Return the usable part of the catalog; the first call logs its warnings. Raise StorageError."""
        if self._catalog is None:
            from nexus_mcp.catalog.load import usable

            self._catalog = usable(self.workspace.root).mount(self.workspace.harness_id, self.workspace.mount)
            for problem in self._catalog.warnings:
                log.warning(problem)
        return self._catalog

    def tool_context(self) -> ToolContext:
        """Return the context for read-only tools, whose results some resources return."""
        return ToolContext(self.workspace, self.store, By("", self.workspace.harness_id, self.client_name))


class Content:
    """The content of a resource: text, or bytes when `text` is None."""

    __slots__ = ("data", "mime_type", "text")

    def __init__(self, mime_type: str, text: str | None = None, data: bytes = b"") -> None:
        self.mime_type = mime_type
        self.text = text
        self.data = data


class Entry:
    """A listed resource. `key` is unique in its kind: a page of a list can begin after it. `size` is in bytes.

    `modified` is in seconds since 1970. Unknown values are None. An empty title or description is replaced by that of
    the kind, an empty name by the name of the kind and the key.
    """

    __slots__ = ("description", "key", "mime_type", "modified", "name", "size", "title", "values")

    def __init__(
        self,
        key: str,
        values: Values,
        *,
        title: str = "",
        size: int | None = None,
        modified: float | None = None,
        mime_type: str | None = None,
        name: str = "",
        description: str = "",
    ) -> None:
        self.key = key
        self.values = values
        self.title = title
        self.size = size
        self.modified = modified
        self.mime_type = mime_type
        self.name = name
        self.description = description


class Resource:
    """One kind of resource.

    `uri` is a URI or the text of a Template. `mime_type` is the type of all its resources, None if their types differ.
    `audience` and `priority` are MCP's annotations. `check(values)` raises ResourceRefused for values that are never
    valid. `read(ctx, values)` runs after `check`, returns the contents, and raises Missing, NexusError, and
    UnicodeEncodeError for a name that no file can have. `entries(ctx, after)` yields the listed resources in a fixed
    order: those after the key `after`, or all if it is None.
    `watched(values)` returns the paths below .nexus on which the content depends, as Poller.add takes them.
    `words(ctx, variable)` returns the known values of a variable, for completion.
    """

    def __init__(
        self,
        uri: str,
        *,
        name: str,
        title: str,
        description: str,
        mime_type: str | None,
        priority: float,
        read: Callable[[ReadContext, Values], list[Content]],
        watched: Callable[[Values], tuple[str, ...]],
        check: Callable[[Values], object] = lambda _values: None,
        entries: Callable[[ReadContext, str | None], Iterator[Entry]] = lambda _ctx, _after: iter(()),
        words: Callable[[ReadContext, str], Iterable[str]] = lambda _ctx, _variable: (),
        audience: tuple[str, ...] = ("user", "assistant"),
    ) -> None:
        self.template = Template(uri)
        self.name = name
        self.title = title
        self.description = description
        self.mime_type = mime_type
        self.priority = priority
        self.audience = audience
        self.check = check
        self.read = read
        self.watched = watched
        self.entries = entries
        self.words = words


def as_json(value: dict[str, Any]) -> list[Content]:
    """Return `value` as compact JSON content."""
    return [Content(JSON, compact(value))]


def size_of(read: Callable[[], list[Content]]) -> int | None:
    """Return the size of the content in bytes; None if it cannot be read now (a read of the resource reports why)."""
    try:
        # A lone surrogate is sent as U+FFFD, which has 3 bytes in UTF-8. With `surrogatepass` the surrogate has 3
        # bytes, too.
        return sum(len((content.text or "").encode("utf-8", "surrogatepass")) for content in read())
    except NexusError:
        return None


def check_name(name: str) -> list[str]:
    """Return the segments of a file name. Raise ResourceRefused for an unsafe name."""
    try:
        return artifact_name.segments(name, atomic.PREFIX)
    except PathRefused as error:
        raise ResourceRefused(f"the name {error.problem}") from None


def is_safe(name: str) -> bool:
    """Return whether `check_name` accepts the name."""
    with suppress(ResourceRefused):
        return bool(check_name(name))
    return False


def read_file(folder: Folder | None, path: str) -> bytes | None:
    """Return the bytes of the file at a checked path below `folder`; None if the file does not exist or `folder` is
    None.

    Raise PathRefused, StorageError, and StateError if the file is too large.
    """
    if folder is None:
        return None
    with ExitStack() as stack:
        place, name = paths.find(stack, folder, path)
        try:
            return None if place is None else place.read(name, LIMIT)
        except StateError as error:  # the file is too large, not corrupt
            advice = (
                "Have its author split it, or read the file itself, a part at a time, on the machine of the server."
            )
            raise StateError(error.file, error.problem, next_step=advice) from None


def info(folder: str, name: str) -> os.stat_result | None:
    """Return the stat of the regular file `name` in `folder`; None if there is no regular file of this name."""
    with suppress(OSError, ValueError):
        seen = os.lstat(os.path.join(folder, name))
        if stat.S_ISREG(seen.st_mode):
            return seen
    return None
