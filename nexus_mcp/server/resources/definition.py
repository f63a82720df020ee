"""What a resource is: plain data about its URIs, and the functions that read, list and complete them."""

from __future__ import annotations

from nexus_mcp import log
from nexus_mcp.errors import NexusError
from nexus_mcp.server.resources.uris import Template
from nexus_mcp.state.oplog import By
from nexus_mcp.store.codec import compact
from nexus_mcp.tools.definition import ToolContext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.store.store import Store
    from nexus_mcp.workspace import Workspace

    Values = dict[str, str]

JSON = "application/json"
MARKDOWN = "text/markdown"
LIMIT = 4 << 20
"""Bytes of a note or an artifact that are read: as much as one line of the wire can bring in."""
SIZED = 1 << 20
"""Bytes of a file that is read for nothing but the size of what it comes to in the list."""


class Missing(Exception):
    """There is no such resource. `told` says more than that, where there is more to say."""

    def __init__(self, told: str = "") -> None:
        super().__init__(told)
        self.told = told


class Refused(Exception):
    """The URI asks for what cannot be, whatever the files hold; the text says why."""


class Look:
    """What a look at resources or prompts gets: the workspace, its store, and who is looking.

    `prefix` goes before the names of tools; `is_modern` tells 2026-07-28 from what came before. `noting` is the same
    store for what is written by the way: it does not wait long for the lock. The catalog is read anew for each look.
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
        """As far as it can be used; what is wrong with the rest is told in the log. Raises StorageError."""
        if self._catalog is None:
            from nexus_mcp.catalog.load import usable

            self._catalog = usable(self.workspace.root)
            for told in self._catalog.told:
                log.warning(told)
        return self._catalog

    def asking(self) -> ToolContext:
        """For the tools that change nothing, whose answers some resources are."""
        return ToolContext(self.workspace, self.store, By("", self.workspace.harness_id, self.client_name))


class Content:
    """What a resource holds: text, or bytes that are none."""

    __slots__ = ("data", "mime_type", "text")

    def __init__(self, mime_type: str, text: str | None = None, data: bytes = b"") -> None:
        self.mime_type = mime_type
        self.text = text
        self.data = data


class Entry:
    """A resource in the list. `key` tells it from others of its kind and gives their order; `size` is in bytes.

    `modified` is in seconds since 1970. What is not known is None; an empty title stands for that of the kind.
    """

    __slots__ = ("key", "mime_type", "modified", "size", "title", "values")

    def __init__(
        self,
        key: str,
        values: Values,
        *,
        title: str = "",
        size: int | None = None,
        modified: float | None = None,
        mime_type: str | None = None,
    ) -> None:
        self.key = key
        self.values = values
        self.title = title
        self.size = size
        self.modified = modified
        self.mime_type = mime_type


def _nothing(_look: Look, _after: str | None) -> Iterator[Entry]:
    return iter(())


def _anything(_values: Values) -> None:
    """Whatever the values are, there may be such a resource."""


def _no_words(_look: Look, _variable: str) -> Iterable[str]:
    return ()


class Resource:
    """One kind of resource.

    `uri` is a URI or a template (uris.py). `mime_type` is that of all its resources, None where they differ.
    `audience` and `priority` are MCP's annotations. `check(values)` raises Refused for what cannot be, whatever the
    files hold. `read(look, values)` comes after it, returns what there is, and raises Missing and NexusError.
    `entries(look, after)` gives those that are listed, by their keys, from the one after the key `after` on.
    `watched(values)` names the files, and with a slash at the end the folders, below .nexus whose change may change
    what is read. `words(look, variable)` are the values that a variable can have.
    """

    __slots__ = (
        "audience",
        "check",
        "description",
        "entries",
        "mime_type",
        "name",
        "priority",
        "read",
        "template",
        "title",
        "watched",
        "words",
    )

    def __init__(
        self,
        uri: str,
        *,
        name: str,
        title: str,
        description: str,
        mime_type: str | None,
        priority: float,
        read: Callable[[Look, Values], list[Content]],
        watched: Callable[[Values], tuple[str, ...]],
        check: Callable[[Values], object] = _anything,
        entries: Callable[[Look, str | None], Iterator[Entry]] = _nothing,
        words: Callable[[Look, str], Iterable[str]] = _no_words,
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
    """The content that `value` is as compact JSON."""
    return [Content(JSON, compact(value))]


def sized(read: Callable[[], list[Content]]) -> int | None:
    """Bytes of what `read` gives; None when it cannot be read now, which is told to who reads it."""
    try:
        # A lone surrogate goes out as U+FFFD, which has as many bytes as the surrogate that is let pass here.
        return sum(len((content.text or "").encode("utf-8", "surrogatepass")) for content in read())
    except NexusError:
        return None
