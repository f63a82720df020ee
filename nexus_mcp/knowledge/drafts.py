"""Read Markdown files of other programs as drafts of notes, with YAML front matter or without.

Claude Code keeps one fact per file, with name, description and type in the front matter, and MEMORY.md as an index.
Codex keeps memory_summary.md, MEMORY.md and rollout_summaries/. The front matter is read line by line and not as YAML:
models write it, and a colon in a description would make it invalid YAML.
"""

from __future__ import annotations

import os
import re
import stat

from nexus_mcp.errors import StorageError
from nexus_mcp.knowledge.index import LONGEST_TAG, SUFFIX
from nexus_mcp.knowledge.notes import MAX_WRITE_BYTES, has_markers
from nexus_mcp.store.folder import reason

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

KINDS = {
    "user": "user",
    "feedback": "feedback",
    "reference": "external",
    "external": "external",
    "empirical": "empirical",
    "pattern": "pattern",
}
"""The type in the front matter → the prefix of the note's name. Notes of other types, such as project, get no prefix.
"""
MOST_FILES = 2000
DEEPEST = 4
_MOST_TAGS = 8
_INDEX = "MEMORY.md"
_RAW = "raw_memories.md"
_SKILLS = "skills"
_FENCE = "---"
_FIELD = re.compile(r"\s*(name|description|type|tags)\s*:(.*)", re.IGNORECASE)
_LINK_LINE = re.compile(r"\s*(?:#.*|[-*+]?\s*\[[^\]]*\]\([^)]*\).*|[-*+]\s*`?[\w./-]+\.md`?.*)?\s*")
_BLOCKS = (">", ">-", ">+", "|", "|-", "|+")


class Draft:
    """A draft of a note: its source file, its `kind` (a prefix or ""), a `name` without suffix, tags and text."""

    __slots__ = ("kind", "name", "source", "tags", "text")

    def __init__(self, source: str, kind: str, name: str, tags: list[str], text: str) -> None:
        self.source = source
        self.kind = kind
        self.name = name
        self.tags = tags
        self.text = text


def read_folder(path: str) -> tuple[list[Draft], list[tuple[str, str]]]:
    """Return (the drafts of the Markdown files below a folder, [(file, reason why it is left out)]), both in the order
    of `_markdown_files`.

    Links in the folder, names that begin with a dot, and folders more than DEEPEST levels below it are ignored. Raise
    StorageError if a folder cannot be listed.
    """
    drafts, skipped = [], []
    files = list(_markdown_files(path))
    names = {os.path.basename(name) for name in files}
    for name in files[:MOST_FILES]:
        problem = _why_left_out(name, names)
        text = ""
        if not problem:
            text, problem = _read(os.path.join(path, name))
        if not problem and os.path.basename(name) == _INDEX and _is_index(text):
            problem = "is the index of the other files"
        draft = None if problem else parse(text, name)
        if draft is None:
            skipped.append((name, problem or "has no text"))
        else:
            drafts.append(draft)
    skipped += [(name, f"comes after the {MOST_FILES} files that are read") for name in files[MOST_FILES:]]
    return drafts, skipped


def parse(text: str, source: str) -> Draft | None:
    """Return the draft of a file; None if it has no text."""
    fields, body = split_front_matter(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    body = body.strip()
    description = fields.get("description", "")
    if description and " ".join(description.split()) not in " ".join(body.split()):
        body = f"{description}\n\n{body}".strip()
    if not body:
        return None
    kind = KINDS.get(fields.get("type", "").casefold(), "")
    stem = os.path.basename(source).removesuffix(SUFFIX)
    name = slug(fields.get("name", "")) or slug(stem)
    named_kind = name.partition("-")[0]
    if not kind and "type" not in fields and named_kind in KINDS and "-" in name:  # feedback_testing.md
        kind = KINDS[named_kind]
    if kind:
        name = name.removeprefix(f"{named_kind}-") if KINDS.get(named_kind) == kind else name
    tags = [tag.strip().strip("\"'") for tag in re.split(r"[,\n]", fields.get("tags", "").strip("[]"))]
    tags = [tag.removeprefix("- ").strip() for tag in tags]
    usable = [tag for tag in tags if tag and len(tag) <= LONGEST_TAG and "-->" not in tag]
    return Draft(source, kind, name, list(dict.fromkeys(usable))[:_MOST_TAGS], body)


def split_front_matter(text: str) -> tuple[dict[str, str], str]:
    """Return (those of the fields name, description, type and tags that the front matter has; the text after it)."""
    lines = text.split("\n")
    if lines[0].rstrip() != _FENCE:
        return {}, text
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() in (_FENCE, "...")), 0)
    if not end:
        return {}, text
    fields: dict[str, str] = {}
    at = 1
    while at < end:
        found = _FIELD.fullmatch(lines[at])
        at += 1
        if found is None:
            continue
        value, indent = found[2].strip(), len(lines[at - 1]) - len(lines[at - 1].lstrip())
        if value in ("", *_BLOCKS):
            more = []
            while at < end and (not lines[at].strip() or _indent(lines[at]) > indent or lines[at].startswith("- ")):
                more.append(lines[at].strip())
                at += 1
            value = ("\n" if found[1].lower() == "tags" else " ").join(more).strip()
        fields.setdefault(found[1].lower(), value.strip("\"'") if value[:1] == value[-1:] else value)
    return fields, "\n".join(lines[end + 1 :])


def slug(text: str) -> str:
    """Return the words of a name in lower case, joined by hyphens, at most 60 characters; "" if none has a Latin letter
    or digit.
    """
    import unicodedata

    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().casefold()
    return "-".join(re.findall(r"[a-z0-9]+", plain))[:60].strip("-")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _markdown_files(path: str, below: str = "", depth: int = 0) -> Iterator[str]:
    """Yield the paths of the Markdown files below a folder, with `/`, sorted within each folder. Raise StorageError."""
    try:
        with os.scandir(os.path.join(path, below)) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        raise StorageError(os.path.join(path, below), "list", reason(error)) from error
    for entry in entries:
        name = f"{below}/{entry.name}" if below else entry.name
        if entry.name.startswith(".") or entry.is_symlink():
            continue
        if entry.is_dir():
            if depth < DEEPEST:
                yield from _markdown_files(path, name, depth + 1)
        elif entry.name.endswith(SUFFIX):
            yield name


def _why_left_out(name: str, names: set[str]) -> str:
    if name.split("/", maxsplit=1)[0] == _SKILLS and "/" in name:
        return "is a skill and no note"
    if os.path.basename(name) == _RAW and names & {_INDEX, "memory_summary.md"}:
        return f"is the source of {_INDEX}"
    return ""


def _is_index(text: str) -> bool:
    """Return whether the text has `.md`, and every line is empty, a heading, a link, or an item with a file's name."""
    return ".md" in text and all(_LINK_LINE.fullmatch(line) for line in text.splitlines())


def _read(path: str) -> tuple[str, str]:
    """Return (the text of a file, "") or ("", why it cannot be a note)."""
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(fd, "rb") as file:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return "", "is no file"
            data = file.read(MAX_WRITE_BYTES + 1)
    except OSError as error:
        return "", f"cannot be read: {reason(error)}"
    if len(data) > MAX_WRITE_BYTES:
        return "", f"is larger than the {MAX_WRITE_BYTES >> 20} MiB that a note may have"
    if has_markers(data):
        return "", "has git conflict markers"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return "", "is not UTF-8"
    return ("", "contains a NUL character") if "\0" in text else (text, "")
