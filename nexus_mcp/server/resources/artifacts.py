"""nexus://artifacts/{+path}: what agents left for each other."""

from __future__ import annotations

import os
import stat
from itertools import islice

from nexus_mcp import log
from nexus_mcp.errors import NexusError, PathRefused
from nexus_mcp.server.resources import mime
from nexus_mcp.server.resources.definition import Content, Entry, Missing, Resource
from nexus_mcp.server.resources.files import checked, found, is_safe
from nexus_mcp.state.artifact_name import MAX_SEGMENTS
from nexus_mcp.store.artifacts import FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nexus_mcp.server.resources.definition import Look, Values
    from nexus_mcp.store.folder import Folder

MOST_WORDS = 10_000


def read(look: Look, values: Values) -> list[Content]:
    """The artifact as text, or as bytes when it is none. Raises Missing, and what reading a file raises."""
    path = values["path"]
    with look.store.state() as state:
        data = found(state, f"{FOLDER}/{path}")
    if data is None:
        raise Missing("there is no such artifact")
    kind, text = mime.of(path, data)
    return [Content(kind, data=data) if text is None else Content(kind, text)]


def entries(look: Look, after: str | None) -> Iterator[Entry]:
    """Folder by folder, each looked into only when its turn has come. Raises PathRefused, StorageError."""
    with look.store.state() as state:
        folder = None if state is None else state.child(FOLDER)
        if folder is not None:
            with folder:
                yield from _walk(folder, "", [] if after is None else after.split("/"), 1)


def _walk(folder: Folder, above: str, after: list[str], depth: int) -> Iterator[Entry]:
    """Those in and below `folder`, whose own path ends with a slash unless it is "", that come after these segments.

    What has no good name, and what is neither file nor folder, is left out: it cannot be read either.
    """
    # Nothing more than its name is looked at of what earlier pages have: there may be a hundred of them.
    for name in sorted(name for name in folder.names() if not after or name >= after[0]):
        rest = after[1:] if after and name == after[0] else []
        if (after and name == after[0] and not rest) or not is_safe(name):
            continue
        try:
            seen = os.lstat(os.path.join(folder.path, name))
            if stat.S_ISREG(seen.st_mode):
                path = above + name
                kind = mime.unseen(name)  # looking into each would read them all
                yield Entry(path, {"path": path}, title=path, size=seen.st_size, modified=seen.st_mtime, mime_type=kind)
            elif stat.S_ISDIR(seen.st_mode) and depth < MAX_SEGMENTS:
                below = folder.child(name)
                if below is not None:
                    with below:
                        yield from _walk(below, f"{above}{name}/", rest, depth + 1)
        except (OSError, PathRefused):
            continue  # it went meanwhile, or is something else by now
        except NexusError as error:  # the others are of use without it
            log.warning(f"not all artifacts are listed: {error}")


def words(look: Look, _: str) -> Iterable[str]:
    return (entry.key for entry in islice(entries(look, None), MOST_WORDS))


RESOURCE = Resource(
    "nexus://artifacts/{+path}",
    name="artifacts",
    title="An artifact",
    description="A file that an agent left with artifact_write; text, or base64 when it is none.",
    mime_type=None,
    priority=0.4,
    read=read,
    check=lambda values: checked(values["path"]),
    entries=entries,
    watched=lambda values: (f"state/{FOLDER}/{values['path']}",),
    words=words,
)
