"""Find the files that a patch touches (`*** Begin Patch`), in every way in which a known harness parses it.

The versions of Codex and OpenCode read the format differently: they differ in whether a header may be indented, whether
a blank follows its colon, and whether a second colon ends the path. So each header yields every path that one of the
harnesses would read there. A patch is certain only if all harnesses find its headers in the same places; see
docs/decisions/0069. Pure. Hooks load it, so it uses no regular expressions.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BEGIN, END = "*** Begin Patch", "*** End Patch"
MAX_BYTES, MAX_LINES = 1 << 19, 20_000
"""The maximum bytes and lines of a patch, or of the script around it: a hook has to answer at once."""
PROGRAMS = ("apply_patch", "applypatch")
"""The names of the command that applies a patch in a shell of Codex."""
_FILE_HEADERS = ("*** Add File:", "*** Update File:", "*** Delete File:")
_MOVE = "*** Move to:"
_HEADERS = (*_FILE_HEADERS, _MOVE)
_MARKS = ("begin patch", "end patch", "add file", "update file", "delete file", "move to", "environment id")
_EOF = "*** End of File"
_BLANKS = " \t\r"  # all harnesses agree on these only; each has its own list of other blanks
_ENDS, _MORE_ENDS = "\n\r\v\f\x1c\x1d\x1e", "\x85\u2028\u2029"  # line ends of str.splitlines
_INVISIBLE = "\ufeff\u180e\u200b\u200c\u200d\u2060"
_WORD = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
_PLAIN = _WORD | frozenset("./~-")
_EXPANDED = frozenset("$`\\")


def patch_paths(text: str) -> tuple[list[str], bool]:
    """Return (the paths in the headers of a patch, each once; whether they are certainly complete).

    If they may be incomplete, the list also has the paths of lines that only look like headers, so that a guard can
    check these, too. A text that is too long is not read: the result is ([], False).
    """
    if _is_too_long(text):
        return [], False
    found: dict[str, None] = {}
    is_broken = text.count("\r") > text.count("\r\n") + text.endswith("\r")  # a CR within a line
    is_certain = not is_broken and _is_read(text.split("\n"), found) and bool(found)
    if not is_certain:
        for line in text.splitlines():
            found.update(dict.fromkeys(_guess_paths(line)))
    return list(found), is_certain


def command_patch_paths(command: object) -> tuple[list[str], bool] | None:
    """Return the result of `patch_paths` for the patch that a shell command hands to apply_patch; None without one.

    `command` is a script, or the list of a program and its arguments. For a script the result is certain only if the
    whole script is `apply_patch <<'EOF'`, the patch, `EOF`, with or without `cd FOLDER &&` before it. For a list it can
    also be certain if the patch is the only argument of apply_patch. After `cd FOLDER`, relative paths also count below
    FOLDER.
    """
    if isinstance(command, str):
        return _in_script(command)
    words = [word for word in command if isinstance(word, str)] if isinstance(command, list) else []
    if len(words) > 1 and words[0].replace("\\", "/").rpartition("/")[2] in PROGRAMS:
        if len(words) > 2 or command != words:
            return possible_paths(words[1:])
        return patch_paths(words[1])
    return next((found for word in words if (found := _in_script(word)) is not None), None)


def possible_paths(texts: Iterable[str]) -> tuple[list[str], bool]:
    """Return (the paths that `patch_paths` finds in the texts, False): any of the texts may be the patch. More than
    MAX_LINES texts are not read.
    """
    texts = list(texts)
    most = "\n".join(text for text in texts if "***" in text) if len(texts) <= MAX_LINES else ""
    return patch_paths(most)[0], False


def _in_script(script: str) -> tuple[list[str], bool] | None:
    if "Begin Patch" not in script or not any(program in script for program in PROGRAMS):
        return None
    if _is_too_long(script):
        return [], False
    lines = script.strip("\n").split("\n")
    folder, word, is_quoted = _split_invocation(lines[0].strip(_BLANKS))
    body = "\n".join(lines[1:-1])
    if not word or lines[-1] != word or word in lines[1:-1] or (not is_quoted and _EXPANDED.intersection(body)):
        return patch_paths(script)[0], False
    paths, is_certain = patch_paths(body)
    if not folder:
        return paths, is_certain
    return [*paths, *(f"{folder}/{one}" for one in paths if one[0] != "/")], is_certain


def _split_invocation(line: str) -> tuple[str, str, bool]:
    """Return (FOLDER, WORD, whether WORD is quoted) of a line `cd FOLDER && apply_patch <<'WORD'`. FOLDER is ""
    without `cd`, WORD is "" for other lines.
    """
    folder = ""
    if line.startswith("cd ") and "&&" in line:
        before, _, line = line.partition("&&")
        folder, line = before[3:].strip(_BLANKS), line.strip(_BLANKS)
        if not folder or folder[0] == "-" or not _PLAIN.issuperset(folder):
            return "", "", False
    program, _, rest = line.partition("<<")
    if program.strip(_BLANKS) not in PROGRAMS:
        return "", "", False
    word, is_quoted = _unquote(rest)
    return folder, word, is_quoted


def _unquote(text: str) -> tuple[str, bool]:
    """Return (the word that ends a here-document, whether it is quoted); the word is "" if it is not a plain one."""
    word = text.strip(_BLANKS)
    is_quoted = len(word) > 1 and word[0] in "'\"" and word[0] == word[-1]
    word = word[1:-1] if is_quoted else word
    return (word if _WORD.issuperset(word) else ""), is_quoted


def _is_too_long(text: str) -> bool:
    """Return whether a patch or a script is too long to be read. Each character at which some harness ends a line
    counts as a line end.
    """
    if len(text) > MAX_BYTES or (not text.isascii() and len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES):
        return True
    return sum(map(text.count, _ENDS if text.isascii() else _ENDS + _MORE_ENDS)) > MAX_LINES


def _is_read(lines: list[str], found: dict[str, None]) -> bool:
    """Return whether the lines are a patch in which all harnesses find the same headers. Add the paths of the headers
    to `found`, up to the first line that the harnesses may read differently.
    """
    number, last = 0, len(lines) - 1
    while number < last and not lines[number].strip(_BLANKS):
        number += 1
    while last > number and not lines[last].strip(_BLANKS):
        last -= 1
    word = _here_document(lines[number].strip(_BLANKS))
    if word:
        number, last = number + 1, last - 1
        if lines[last + 1].rstrip(_BLANKS) != word:
            return False
    if number >= last or lines[number].strip(_BLANKS) != BEGIN or lines[last].strip(_BLANKS) != END:
        return False
    header = ""
    for line in lines[number + 1 : last]:
        mark = line[:1]
        if mark in "+-" and mark:
            if not header:
                return False
        elif not (bare := line.strip(_BLANKS)):
            continue
        elif (name := next((one for one in _HEADERS if bare.startswith(one)), "")) and (name != _MOVE or header):
            header = name
            rest = bare[len(name) :]
            paths = [*_readings(rest, line[line.index(name) + len(name) :])]
            if not paths or not all(map(_is_plain, paths)):
                return False
            found.update(dict.fromkeys(paths))
        elif not header or not _is_content(line, bare):
            return False
    return True


def _here_document(line: str) -> str:
    """Return the word of a line `<<'EOF'` or `cat <<'EOF'`, which OpenCode and Codex remove; "" for other lines."""
    before, arrows, rest = line.partition("<<")
    return _unquote(rest)[0] if arrows and before.strip(_BLANKS) in ("", "cat") else ""


def _readings(bare: str, rest: str) -> Iterator[str]:
    """Yield each path that one of the harnesses reads after the colon of a header. Some keep blanks there, and some end
    the path at a second colon.

    `rest` is the text after the colon, `bare` the same without blanks at its end.
    """
    path = bare.strip(_BLANKS)
    if not path:
        return
    yield path
    first = path.partition(":")[0].rstrip(_BLANKS)
    if first and first != path:
        yield first
    for exact in (bare[1:], rest[1:].removesuffix("\r")) if rest[:1] == " " else ():
        if exact != path:
            yield exact


def _is_plain(path: str) -> bool:
    """Return whether all harnesses remove the same characters at the ends of a path."""
    bare = path.strip(_BLANKS)
    return bool(bare) and bare == bare.strip().strip(_INVISIBLE)


def _is_content(line: str, bare: str) -> bool:
    """Return whether all harnesses read a line below a header as content of that file."""
    if line[0] not in " @" and bare != _EOF:
        return False
    if "***" not in line:
        return True
    seen = line.strip().strip(_INVISIBLE).strip().lower()
    return bare == _EOF or not (seen.startswith("***") and seen[3:].lstrip().startswith(_MARKS))


def _guess_paths(line: str) -> Iterator[str]:
    """Yield possible paths in a line that looks like a header; none in other lines."""
    lowered = line.lower()
    for mark in ("***", *_MARKS[2:6]):
        at = lowered.find(mark)
        if at >= 0:
            rest = line[at + len(mark) :].lstrip()
            rest = rest.partition(":")[2] if mark == "***" else rest.removeprefix(":")
            yield from (path.strip() for path in (rest, rest.partition(":")[0]) if path.strip())
