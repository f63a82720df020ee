"""Find the files of a task: the paths in its texts (docs/resume.md).

A task has no field for them. So each word of its title, context, approach and acceptance that is a path, or looks like
one, counts. This module reads no file, does not load `re`, and passes over each text once.
"""

from __future__ import annotations

import posixpath

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

FIELDS = ("title", "context", "approach", "acceptance")
MOST = 100
"""Maximum number of paths of one task."""
LONGEST = 512
_MOST_LOOKS = 2000
_SEPARATORS = str.maketrans(dict.fromkeys("`'\"<>()[]{}|,;*=\u201c\u201d\u2018\u2019\u00ab\u00bb", " "))
_AROUND = ".,:!?\u2026"
_KNOWN_SUFFIXES = """
adoc bash bat c cc cfg cjs conf cpp cs css csv cxx dart env erl ex exs fish go gradle graphql h hpp hs htm html ini
ipynb java jl js json json5 jsonc jsonl jsx kt kts less lock lua md mdx mjs mk ml mm nix php pl plist po properties
proto ps1 py pyi pyx r rb rs rst sass scala scss sh sql svelte svg swift tex tf toml ts tsv tsx txt vim vue xml yaml
yml zig zsh
"""
# A word without a slash looks like a file name only with one of these suffixes: "e.g.", "v0.5", "task.owner" do not.
_SUFFIXES = frozenset(_KNOWN_SUFFIXES.split())
_LONGEST_SUFFIX = 10


def of_task(task: Mapping[str, Any], root: str = "", kind: Callable[[str], str] | None = None) -> list[str]:
    """Return the paths that the task names, relative to the project root with `/`, each once; a folder ends with `/`.

    `root` is removed from absolute paths. `kind` returns the kind of an existing path from the root ("file", "folder"
    or ""), so that Makefile and src/state count, too. A path outside the project is left out. At most MOST paths.
    """
    found: dict[str, None] = {}
    seen: set[str] = set()
    for field in FIELDS:
        text = task.get(field)
        for word in _words(text) if isinstance(text, str) else ():
            if word in seen:
                continue
            seen.add(word)
            path = normal(word, root)
            if path and not _looks_like_path(word):
                is_ = kind(path) if kind is not None and len(seen) <= _MOST_LOOKS else ""
                # A word such as "tests" usually does not mean a folder, even if a folder has that name.
                path = path if is_ == "file" else f"{path}/" if is_ == "folder" and "/" in path else ""
            if path:
                found[path] = None
                if len(found) == MOST:
                    return list(found)
    return list(found)


def normal(path: str, root: str = "") -> str:
    """Return a path from the project's root, without `./` and `//`; "" for the root and for paths outside.

    A slash at its end, which marks a folder, stays.
    """
    if path.startswith("/"):
        inside = root.rstrip("/") + "/"
        if not (root and path.startswith(inside)):
            return ""
        path = path[len(inside) :]
    if path.startswith("~"):
        return ""
    plain = posixpath.normpath(path) if path else "."
    if plain in (".", "..") or plain.startswith(("../", "/")):
        return ""
    return f"{plain}/" if path.endswith("/") else plain


def covers(target: str, path: str) -> bool:
    """Return whether a target of a task is this path: the same path from the root, or a folder above it.

    A name without folders stands for any file of that name.
    """
    if target.endswith("/"):
        return path.startswith(target)
    return path == target or ("/" not in target and path.endswith(f"/{target}"))


def may_cover(target: str, path: str) -> bool:
    """Return whether a target may mean this path: the target is the path, its end, or a folder anywhere in it."""
    if target.endswith("/"):
        return f"/{target}" in f"/{path}"
    return path == target or path.endswith(f"/{target}")


def covered_targets(
    targets: Iterable[str], paths: Iterable[str], test: Callable[[str, str], bool] = covers
) -> list[str]:
    """Return the targets for which `test` (`covers` or `may_cover`) is true of at least one path."""
    there = list(paths)
    return [target for target in targets if any(test(target, path) for path in there)]


def _words(text: str) -> Iterator[str]:
    for word in text.translate(_SEPARATORS).split():
        bare = _without_place(word.strip("!?\u2026").rstrip(_AROUND).lstrip(":,"))
        if bare and len(bare) <= LONGEST and "://" not in bare and "\0" not in bare:
            yield bare


def _without_place(word: str) -> str:
    """Return `a.py:12:5` and `a.py#L12` without the place after the path."""
    word = word.partition("#")[0]
    head, colon, tail = word.partition(":")
    return head if colon and tail.replace(":", "").replace("-", "").isdigit() else word


def _looks_like_path(word: str) -> bool:
    if ":" in word or "@" in word:
        return False
    folder, slash, name = word.rpartition("/")
    if not slash:
        stem, dot, suffix = name.rpartition(".")
        return bool(stem and dot) and suffix.lower() in _SUFFIXES
    if not name:  # src/ and src/state/ are folders; slashes and dots alone are not
        return bool(folder.strip("./"))
    stem, dot, suffix = name.rpartition(".")
    # and/or, 1/2 and read/write are not files, but src/a.py, .github/x.yml and ./.env are.
    return bool(dot) and suffix.isalnum() and suffix[0].isalpha() and len(suffix) <= _LONGEST_SUFFIX
