"""What an inline action is."""

from __future__ import annotations

from nexus_mcp.errors import UNCHANGED, NexusError
from nexus_mcp.knowledge import tag_line
from nexus_mcp.knowledge.notes import WRITTEN, has_markers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.knowledge.scan import Scan
    from nexus_mcp.store.store import Store


class Desk:
    """What the actions of one message work with. `memory`: the notes as the last of them saw them, None before."""

    __slots__ = ("catalog", "memory", "store")

    def __init__(self, catalog: Catalog, store: Store) -> None:
        self.catalog = catalog
        self.store = store
        self.memory: Scan | None = None


class Action:
    """One inline action. Both functions take the desk, the variant of the tag and the text behind it.

    `preview` tells what `run` would come to, and changes nothing. What they return are the members of a
    step of schemas/catalog/act.schema.json. They raise NexusError when nothing can be done.
    """

    __slots__ = ("preview", "run")

    def __init__(
        self, preview: Callable[[Desk, str, str], dict[str, Any]], run: Callable[[Desk, str, str], dict[str, Any]]
    ) -> None:
        self.preview = preview
        self.run = run


def told(error: NexusError) -> str:
    """An error on one line, with all of its faults; the path that it names is quoted, for it may be anybody's words."""
    from nexus_mcp.quoting import fault, inert

    faults = getattr(error, "faults", None)
    return inert(f"{'; '.join(faults)}. {error.next_step}") if faults else fault(error, str(error))


def kept_text(text: str, tag: str) -> str:
    """`text` as it is kept. Raises NexusError when there is nothing, or too much, or it cannot be in a file of text."""
    if not text.strip():
        raise NexusError(
            f"Nothing is written behind [{tag}]",
            effect=UNCHANGED,
            next_step=f"Write it so: [{tag}] what is to be kept.",
        )
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        problem = "a lone surrogate, which no text file can hold"
    else:
        kept = text.replace("\r\n", "\n").strip()
        problem = "a NUL character" if "\0" in text else ""
        if has_markers(kept.encode()):
            problem = "a line as git begins those of a conflict, with which nothing could be added to the note any more"
        if size > WRITTEN:
            raise NexusError(
                f"The text behind [{tag}] has {size} bytes, more than the {WRITTEN >> 20} MiB that a note may have",
                effect=UNCHANGED,
                next_step="Keep what is worth remembering in a few sentences; an artifact can hold the whole.",
            )
    if problem:
        raise NexusError(
            f"The text behind [{tag}] has {problem}", effect=UNCHANGED, next_step="Take it out, then send it again."
        )
    return kept


def with_tags(text: str, tag: str) -> tuple[list[str], str]:
    """(the tags that a text brings in a first line of tags, the text behind it); as it is when it has no such line.

    Raises NexusError for tags that the index would leave out, and when nothing is behind the line.
    """
    kept = kept_text(text, tag)
    tags = tag_line.named(kept.encode())
    if not tags:
        return [], kept
    if (
        len(tags) > tag_line.MOST_TAGS
        or max(map(len, tags)) > tag_line.LONGEST_TAG
        or len(tag_line.made(tags).encode()) > tag_line.FIRST_BYTES
    ):
        raise NexusError(
            f"The line of tags behind [{tag}] is one that could not be listed",
            effect=UNCHANGED,
            next_step=f"Name {tag_line.MOST_TAGS} tags at most, of {tag_line.LONGEST_TAG} characters at most, in a "
            f"line of {tag_line.FIRST_BYTES} bytes at most.",
        )
    return tags, kept_text(kept.partition("\n")[2], tag)
