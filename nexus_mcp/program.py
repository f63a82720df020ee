"""Find the command that starts this program, for texts that name a command to run.

The server is often mounted by its absolute path, and is not on the PATH. Then an agent that runs `nexus-mcp` from a
text would get exit code 127.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

NAME = "nexus-mcp"


def own_command() -> list[str]:
    """Return the words of the command line that starts this installation, with absolute paths."""
    for candidate in (sys.argv[0], os.path.join(os.path.dirname(sys.executable), NAME)):
        path = os.path.abspath(candidate)
        if os.path.basename(path) == NAME and os.access(path, os.X_OK):
            return [path]
    return [sys.executable, "-m", "nexus_mcp"]


def command(words: str) -> str:
    """Return the command line `nexus-mcp WORDS` for a POSIX shell: with the bare name if PATH leads to this program,
    else with absolute paths.
    """
    own = own_command()
    return f"{NAME if leads_to(own[0], os.environ.get('PATH', '')) else shell_line(own)} {words}"


def leads_to(program: str, path: str) -> bool:
    """Return whether the first `nexus-mcp` in the folders of `path`, a value of PATH, is `program`.

    A `nexus-mcp` in a relative folder is not `program`, because the shell may be in another folder.
    """
    for folder in path.split(os.pathsep):
        found = os.path.join(folder, NAME)
        if os.path.isfile(found) and os.access(found, os.X_OK):
            return os.path.isabs(folder) and os.path.realpath(found) == os.path.realpath(program)
    return False


def is_own_program(word: str, root: str) -> bool:
    """Return whether `word` names this installation, a nexus-mcp outside of the project folder `root`, or a nexus-mcp
    that does not exist.

    A cloned project may name any program, and may contain a program with this name.
    """
    import shutil

    if word == own_command()[0]:
        return True
    if os.path.basename(word) != NAME or (os.sep in word and not os.path.isabs(word)):
        return False
    found = shutil.which(word)
    if found is None:  # the word starts no program
        return True
    return os.path.isabs(found) and not os.path.realpath(found).startswith(os.path.join(os.path.realpath(root), ""))


def shell_line(words: Iterable[str]) -> str:
    """Return the words quoted for a shell; a word that `inert` (quoting.py) would change in the $'\\x1b' form of bash
    and zsh.
    """
    return " ".join(map(_shell_word, words))


def _shell_word(word: str) -> str:
    from shlex import quote

    from nexus_mcp.quoting import inert

    if inert(word) == word:
        return quote(word)
    escaped = (
        f"\\{char}"
        if char in "\\'"
        else char
        if char.isprintable() and char.isascii() and char != "<"
        else "".join(f"\\x{byte:02x}" for byte in os.fsencode(char))
        for char in word
    )
    return f"$'{''.join(escaped)}'"
