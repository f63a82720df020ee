"""Servers that are wrong about artifact_write."""

from __future__ import annotations

import os
from pathlib import Path

from nexus_mcp.server.app import Answer
from tests.miniatures.base import Call, Miniature, answering, asking, error, failed, success

_WRITE = ("artifact_write",)


def _folder(call: Call) -> Path:
    return call.nexus / "state" / "artifacts"


def _written(path: Path, content: str) -> Answer:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return success({"success": True, "path": str(path)})


def _texts(call: Call) -> tuple[str, str] | None:
    given = (call.arguments.get("filename"), call.arguments.get("content"))
    return given if isinstance(given[0], str) and isinstance(given[1], str) else None  # type: ignore[return-value]


def joins_naively(call: Call) -> Answer:
    texts = _texts(call)
    if texts is None or not texts[0] or "\0" in texts[0]:
        return call.right()
    try:
        return _written(_folder(call) / texts[0], texts[1])
    except OSError as fault:
        return error(str(fault))


def cleans_names(call: Call) -> Answer:
    texts = _texts(call)
    if texts is None or "\0" in texts[0]:
        return call.right()
    clean = os.path.normpath("/" + texts[0].replace("\\", "/")).lstrip("/")
    return _written(_folder(call) / clean, texts[1]) if clean else call.right()


def follows_links(call: Call) -> Answer:
    answer = call.right()
    texts = _texts(call)
    if texts is None or not failed(answer):
        return answer
    path = _folder(call) / texts[0]
    inside = ".." not in path.parts and not texts[0].startswith("/")
    linked = any(part.is_symlink() for part in (path, *path.parents) if part.is_relative_to(call.nexus))
    return _written(path, texts[1]) if inside and linked else answer


def refuses_only_dots(call: Call) -> Answer:
    answer = call.right()
    texts = _texts(call)
    if texts is None or not failed(answer):
        return answer
    bad = (not texts[0].strip(), texts[0].startswith("/"), ".." in texts[0].split("/"), "\0" in texts[0])
    if any(bad) or (_folder(call) / texts[0]).is_dir():
        return answer
    try:
        return _written(_folder(call) / texts[0], texts[1])
    except OSError:
        return answer


def keeps_what_is_there(call: Call) -> Answer:
    texts = _texts(call)
    there = texts is not None and texts[0] and "\0" not in texts[0] and (_folder(call) / texts[0]).is_file()
    return error("The artifact exists already") if there else call.right()


def makes_no_folders(call: Call) -> Answer:
    texts = _texts(call)
    return error("There is no such folder") if texts and "/" in texts[0] else call.right()


def appends(call: Call) -> Answer:
    texts = _texts(call)
    path = _folder(call) / texts[0] if texts and "\0" not in texts[0] else None
    old = path.read_text(encoding="utf-8") if path is not None and path.is_file() else ""
    return call.right({**call.arguments, "content": old + texts[1]}) if texts else call.right()


MINIATURES = (
    Miniature("artifact-joins-naively", "artifact_write writes wherever the name leads.", _WRITE, joins_naively),
    Miniature("artifact-cleans-names", "artifact_write corrects invalid names.", _WRITE, cleans_names),
    Miniature("artifact-follows-links", "artifact_write follows links out of its folder.", _WRITE, follows_links),
    Miniature(
        "artifact-refuses-only-dots",
        "artifact_write refuses only absolute names and names with '..'.",
        _WRITE,
        refuses_only_dots,
    ),
    Miniature("artifact-keeps-old", "artifact_write refuses to overwrite.", _WRITE, keeps_what_is_there),
    Miniature("artifact-appends", "artifact_write appends to an existing file.", _WRITE, appends),
    Miniature("artifact-no-folders", "artifact_write refuses names with folders.", _WRITE, makes_no_folders),
    Miniature(
        "artifact-ends-line",
        "artifact_write ends the content with a newline.",
        _WRITE,
        asking(lambda given: {**given, "content": f"{given['content']}\n"} if "content" in given else given),
    ),
    Miniature(
        "artifact-strips",
        "artifact_write strips white space around the content.",
        _WRITE,
        asking(lambda given: {**given, "content": str(given["content"]).strip()} if "content" in given else given),
    ),
    Miniature(
        "artifact-relative-path",
        "artifact_write answers with a relative path.",
        _WRITE,
        answering(lambda value, call: {**value, "path": os.path.relpath(value["path"], call.root.resolve())}),
    ),
)
