"""Resource nexus://artifacts/{+path}: files that agents left for each other, with their MIME types.

The MIME table is our own, because the system's table differs between machines.
"""

from __future__ import annotations

import os
import stat
from itertools import islice

from nexus_mcp import log
from nexus_mcp.errors import NexusError, PathRefused
from nexus_mcp.server.resources.definition import Content, Entry, Missing, Resource, check_name, is_safe, read_file
from nexus_mcp.state.artifact_name import MAX_SEGMENTS
from nexus_mcp.store.artifacts import FOLDER

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nexus_mcp.server.resources.definition import ReadContext, Values
    from nexus_mcp.store.folder import Folder

TEXT, BYTES = "text/plain", "application/octet-stream"
_TEXTS = {
    "md": "text/markdown",
    "markdown": "text/markdown",
    "txt": TEXT,
    "log": TEXT,
    "csv": "text/csv",
    "html": "text/html",
    "css": "text/css",
    "js": "text/javascript",
    "json": "application/json",
    "xml": "application/xml",
    "yml": "application/yaml",
    "yaml": "application/yaml",
    "svg": "image/svg+xml",
    "py": "text/x-python",
    "diff": "text/x-diff",
    "patch": "text/x-diff",
}
_OTHERS = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "pdf": "application/pdf",
    "zip": "application/zip",
    "gz": "application/gzip",
}


def type_by_name(name: str) -> str | None:
    """Return the MIME type of a binary file by its suffix; None when it depends on the content."""
    return _OTHERS.get(_suffix(name))


def classify(name: str, data: bytes) -> tuple[str, str | None]:
    """Return (MIME type, text), with None as text for binary content."""
    other = type_by_name(name)
    if other is not None:
        return other, None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return BYTES, None
    return (BYTES, None) if "\0" in text else (_TEXTS.get(_suffix(name), TEXT), text)


def _suffix(name: str) -> str:
    return name.rpartition(".")[2].lower()


MOST_WORDS = 10_000


def read(ctx: ReadContext, values: Values) -> list[Content]:
    """Return the artifact as text, or as bytes if its suffix or content is binary. Raise Missing, and the errors of
    `read_file`.
    """
    path = values["path"]
    with ctx.store.state() as state:
        data = read_file(state, f"{FOLDER}/{path}")
    if data is None:
        raise Missing("there is no such artifact")
    kind, text = classify(path, data)
    return [Content(kind, data=data) if text is None else Content(kind, text)]


def entries(ctx: ReadContext, after: str | None) -> Iterator[Entry]:
    """Yield the artifacts after the path `after`, all if it is None. Each folder is opened only when its turn comes.

    Raise PathRefused, StorageError.
    """
    with ctx.store.state() as state:
        folder = None if state is None else state.child(FOLDER)
        if folder is not None:
            with folder:
                yield from _walk(folder, "", [] if after is None else after.split("/"), 1)


def _walk(folder: Folder, above: str, after: list[str], depth: int) -> Iterator[Entry]:
    """Yield the entries below `folder` that come after the path with the segments `after`, all if `after` is empty.

    `above` is the path of `folder` with a final slash, or "". `depth` is the number of segments in the path of a file
    of `folder`.

    Unsafe names and special files are left out: they cannot be read either.
    """
    # Entries of earlier pages are skipped by their name alone, because there may be a hundred pages.
    for name in sorted(name for name in folder.names() if not after or name >= after[0]):
        rest = after[1:] if after and name == after[0] else []
        if (after and name == after[0] and not rest) or not is_safe(name):
            continue
        try:
            seen = os.lstat(os.path.join(folder.path, name))
            if stat.S_ISREG(seen.st_mode):
                path = above + name
                kind = type_by_name(name)  # the type by content would require reading every file
                yield Entry(path, {"path": path}, title=path, size=seen.st_size, modified=seen.st_mtime, mime_type=kind)
            elif stat.S_ISDIR(seen.st_mode) and depth < MAX_SEGMENTS:
                below = folder.child(name)
                if below is not None:
                    with below:
                        yield from _walk(below, f"{above}{name}/", rest, depth + 1)
        except (OSError, PathRefused):
            continue  # another process removed or replaced it meanwhile
        except NexusError as error:  # list the other folders
            log.warning(f"not all artifacts are listed: {error}")


def words(ctx: ReadContext, _: str) -> Iterable[str]:
    return (entry.key for entry in islice(entries(ctx, None), MOST_WORDS))


RESOURCE = Resource(
    "nexus://artifacts/{+path}",
    name="artifacts",
    title="An artifact",
    description="A file that an agent left with artifact_write; text, or base64 for any other content.",
    mime_type=None,
    priority=0.4,
    read=read,
    check=lambda values: check_name(values["path"]),
    entries=entries,
    watched=lambda values: (f"state/{FOLDER}/{values['path']}",),
    words=words,
)
