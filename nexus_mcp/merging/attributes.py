"""The line of .gitattributes that names the merge driver, and how it gets into a text and out again without a trace."""

from __future__ import annotations

DRIVER = "nexus-history"
ATTRIBUTE = f"merge={DRIVER}"
FILE = ".gitattributes"
_BOM = b"\xef\xbb\xbf"  # git reads over it, too
_SPECIAL = "\\*?["  # of a pattern, anywhere
_FIRST = "#!"  # at its beginning
_C = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def line(path: str) -> bytes:
    """The line for the file at `path`, which is relative to the repository's root and has `/`. Without an end."""
    pattern = "".join(f"\\{char}" if char in _SPECIAL else char for char in path)
    if pattern[0] in _FIRST:
        pattern = f"\\{pattern}"
    if pattern[0] == '"' or any(char.isspace() or not char.isprintable() for char in pattern):
        pattern = f'"{"".join(_quoted(char) for char in pattern)}"'
    return f"{pattern} {ATTRIBUTE}".encode("utf-8", "surrogateescape")


def added(data: bytes | None, wanted: bytes) -> bytes | None:
    """The file's bytes with the line `wanted` after what is there, None when it is there already."""
    if not data:
        return wanted + b"\n" if data is None else wanted
    if wanted in _lines(data):
        return None
    end = b"\r\n" if b"\r\n" in data else b"\n"
    # A file without a line end at its end has none afterwards either, nor has an empty one: so it can be told what to
    # take back, and that a file was there at all.
    return data + wanted + end if data.endswith(b"\n") else data + end + wanted


def removed(data: bytes, wanted: bytes) -> bytes | None:
    """The file's bytes without that line, wherever it is; None when it is not there.

    A merge of two branches that both added it may have left it twice. b"" where `is_own` says whose the file is.
    """
    text = data.removeprefix(_BOM)
    lines = text.split(b"\n")
    kept = [each for each in lines if each.strip() != wanted]
    if len(kept) == len(lines):
        return None
    if kept and lines[-1].strip() == wanted:  # no line end after it: the one before it came with it
        kept[-1] = kept[-1].removesuffix(b"\r")
    return data[: len(data) - len(text)] + b"\n".join(kept)


def is_own(data: bytes, wanted: bytes) -> bool:
    """Whether the file was made for that line, by `added`, and has nothing else."""
    return bool(data) and not data.replace(wanted + b"\n", b"")


def names_driver(data: bytes) -> bool:
    """Whether some line names the driver, for this file or for another."""
    return any(ATTRIBUTE.encode() in text.split() for text in _lines(data) if not text.startswith(b"#"))


def _lines(data: bytes) -> list[bytes]:
    return [text.strip() for text in data.removeprefix(_BOM).split(b"\n")]


def _quoted(char: str) -> str:
    if char in _C:
        return _C[char]
    if char.isprintable():
        return char
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))
