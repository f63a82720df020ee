"""Define an inline action, check the text that an action stores, and describe a finished cycle."""

from __future__ import annotations

from nexus_mcp import wording
from nexus_mcp.errors import UNCHANGED, NexusError
from nexus_mcp.knowledge import index
from nexus_mcp.knowledge.notes import MAX_WRITE_BYTES, has_markers
from nexus_mcp.state import tasks as task_lists
from nexus_mcp.workspace import DEFAULT_HARNESS_ID

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.knowledge.scan import Scan
    from nexus_mcp.store.store import Store


class ActionContext:
    """The context of the actions of one message. `memory` caches the notes for these actions; None before the first
    scan.

    `harness_id` and `actor` (the name of the client's token, or "") are for the operation log.
    """

    __slots__ = ("actor", "catalog", "harness_id", "memory", "store")

    def __init__(self, catalog: Catalog, store: Store, harness_id: str = DEFAULT_HARNESS_ID, actor: str = "") -> None:
        self.catalog = catalog
        self.store = store
        self.harness_id = harness_id
        self.actor = actor
        self.memory: Scan | None = None


class Action:
    """One inline action. Both functions take the context, the variant of the tag and the text behind it.

    `preview` returns what `run` would do, and changes nothing: the field `would` of schemas/catalog/route.schema.json.
    `run` returns the fields of a step of schemas/catalog/act.schema.json. Both may raise NexusError.
    """

    __slots__ = ("preview", "run")

    def __init__(
        self,
        preview: Callable[[ActionContext, str, str], dict[str, Any]],
        run: Callable[[ActionContext, str, str], dict[str, Any]],
    ) -> None:
        self.preview = preview
        self.run = run


def finished_text(tasks: dict[str, Any] | None) -> str:
    """Return a sentence about a cycle with all tasks completed that is not closed yet; "" if there is none."""
    if tasks is None or not tasks["tasks"] or task_lists.count(tasks, task_lists.COMPLETED) < len(tasks["tasks"]):
        return ""
    return wording.finished_text(len(tasks["tasks"]))


def error_text(error: NexusError) -> str:
    """Return an error on one line: all its `faults` if it has any, else its text as `quoting.fault` shows it."""
    from nexus_mcp.quoting import fault, inert

    faults = getattr(error, "faults", None)
    return inert(f"{'; '.join(faults)}. {error.next_step}") if faults else fault(error, str(error))


def storable_text(text: str, tag: str) -> str:
    """Return `text` in the form that is stored. Raise NexusError if it is blank or has more than MAX_WRITE_BYTES, a
    lone surrogate, a NUL character, or a line that begins with a conflict marker of git.
    """
    if not text.strip():
        raise NexusError(
            f"Nothing is written behind [{tag}]",
            effect=UNCHANGED,
            next_step=f"Write the text after the tag: [{tag}] text to store.",
        )
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        problem = "a lone surrogate, which no text file can hold"
    else:
        stored = text.replace("\r\n", "\n").strip()
        problem = "a NUL character" if "\0" in text else ""
        if has_markers(stored.encode()):
            problem = "a line that begins with a git conflict marker, after which nothing could be added to the note"
        if size > MAX_WRITE_BYTES:
            raise NexusError(
                f"The text behind [{tag}] has {size} bytes, more than the "
                f"{MAX_WRITE_BYTES >> 20} MiB that a note may have",
                effect=UNCHANGED,
                next_step="Keep what is worth remembering in a few sentences; an artifact can hold the whole text.",
            )
    if problem:
        raise NexusError(
            f"The text behind [{tag}] has {problem}", effect=UNCHANGED, next_step="Take it out, then send it again."
        )
    return stored


def split_tag_line(text: str, tag: str) -> tuple[list[str], str]:
    """Return (the tags of the first line, the text after that line); ([], the whole text) if the first line has no
    tags.

    Raise NexusError for tags that the index would leave out, and as `storable_text` does.
    """
    stored = storable_text(text, tag)
    tags = index.parse_tag_line(stored.encode())
    if not tags:
        return [], stored
    if (
        len(tags) > index.MOST_TAGS
        or max(map(len, tags)) > index.LONGEST_TAG
        or len(index.tag_line(tags).encode()) > index.FIRST_BYTES
    ):
        raise NexusError(
            f"The line of tags after [{tag}] has tags that could not be listed",
            effect=UNCHANGED,
            next_step=f"Name {index.MOST_TAGS} tags at most, of {index.LONGEST_TAG} characters at most, in a "
            f"line of {index.FIRST_BYTES} bytes at most.",
        )
    return tags, storable_text(stored.partition("\n")[2], tag)
