"""Check the recorded command of an installation: the program may be missing, or the record may come with a clone."""

from __future__ import annotations

from nexus_mcp.errors import UsageError
from nexus_mcp.log import printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values

_COMMAND, _CHECK = "--command", "--check"


def drop_gone(values: Values, options: dict[str, str]) -> None:
    """Remove the recorded --command if that program no longer exists, so that the running one is used instead."""
    import shutil

    word = options.get(_COMMAND, "")
    if word and _COMMAND not in values and _CHECK not in values and shutil.which(word) is None:
        print(f"{printable(word)}, the command of the last installation, no longer exists.")
        del options[_COMMAND]


def check(word: str, root: str) -> None:
    """Raise UsageError if the recorded --command is no nexus-mcp, because the record may come with a cloned project."""
    from nexus_mcp.program import is_own_program

    if word and not is_own_program(word, root):
        problem = (
            f".nexus/generated.json names the command {printable(word)}, which is not nexus-mcp, or is in the project."
        )
        step = f"If you trust it, add --command {printable(word)}; else name another one with --command."
        raise UsageError(problem, next_step=step)
