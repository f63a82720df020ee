"""What kind of text, or bytes, a file holds. A table of our own: the system's differs from machine to machine."""

from __future__ import annotations

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


def unseen(name: str) -> str | None:
    """What `of` says whatever the file holds, by the end of its name; None when that depends on what is in it."""
    return _OTHERS.get(_suffix(name))


def of(name: str, data: bytes) -> tuple[str, str | None]:
    """(MIME type, the text that the bytes are): None for those that are no UTF-8 text, or are not meant as such."""
    other = unseen(name)
    if other is not None:
        return other, None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return BYTES, None
    return (BYTES, None) if "\0" in text else (_TEXTS.get(_suffix(name), TEXT), text)


def _suffix(name: str) -> str:
    return name.rpartition(".")[2].lower()
