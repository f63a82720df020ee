"""Check the options of `install` that the last installation recorded: the URL of a server over HTTP, and the command.

The record may come with a cloned project, and a recorded program may be missing.
"""

from __future__ import annotations

from nexus_mcp.cli.remote_options import ALLOW_HTTP, TOKEN_ENV
from nexus_mcp.errors import UsageError
from nexus_mcp.harness import remote_mount
from nexus_mcp.harness.definition import HOOKS, PROJECT, SERVER, STATUS_LINE
from nexus_mcp.log import printable
from nexus_mcp.remote.address import EXAMPLE, check_variable, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from nexus_mcp.cli.options import Values
    from nexus_mcp.harness.definition import Request, Site

_URL, _LOCAL, _FAST, _CHECK, _WITH = "--url", "--local", "--fast-hooks", "--check", "--with"
_COMMAND = "--command"


def settle(values: Values, options: dict[str, str], site: Site) -> None:
    """Check the options about the server, and change `options`, the options of the installation.

    `options` has the recorded options; an option of the command line has replaced the recorded one. Raise UsageError.
    """
    if _LOCAL in values:
        for name in remote_mount.OPTIONS:
            options.pop(name, None)
    if _URL in values and ALLOW_HTTP.name not in values:
        options.pop(ALLOW_HTTP.name, None)  # the record allows http for another URL
    if not options.get(_URL):
        for option in (TOKEN_ENV, ALLOW_HTTP):
            if option.name in options:
                raise UsageError(f"{option.name} needs {_URL}.", next_step=f"Example: {_URL} {EXAMPLE}")
        return
    address = parse(options[_URL], _URL, is_plain_allowed=ALLOW_HTTP.name in options)
    if TOKEN_ENV.name in options:
        check_variable(options[TOKEN_ENV.name], TOKEN_ENV.name)
    if _URL not in values and _CHECK not in values and site.scope == PROJECT and not address.is_local:
        # The record may come with a cloned project, and hooks send the user's token to its server.
        raise UsageError(
            f".nexus/generated.json names the server {address.text}, which would get your token.",
            next_step=f"If it is yours, add {_URL} {address.text}; for the server of this machine add {_LOCAL}.",
        )
    options[_URL] = address.text
    if _FAST in options:
        if _FAST in values:
            raise UsageError(f"{_FAST} needs a server of this machine.", next_step=f"Leave it out, or add {_LOCAL}.")
        del options[_FAST]


def check_parts(values: Values, parts: Sequence[str], installed: Sequence[str], options: dict[str, str]) -> None:
    """Raise UsageError for parts that do not work with the server, or that would keep another server."""
    if options.get(_URL) and _WITH in values and STATUS_LINE in parts:
        raise UsageError(
            f"{STATUS_LINE} shows the files of this machine, and the server is on another one.",
            next_step="Leave it out.",
        )
    if _URL in values or _LOCAL in values:
        missing = [part for part in (SERVER, HOOKS) if part in installed and part not in parts]
        if missing:
            raise UsageError(
                f"The {' and the '.join(missing)} would still use another server.",
                next_step=f"Leave out {_WITH}, or name {' and '.join(missing)} in it.",
            )


def next_steps(request: Request) -> list[str]:
    """Return the user's next steps for a server over HTTP."""
    if request.remote is None:
        return []
    return [f"Put the token of the server into {request.remote.variable} before you start the harness."]


def drop_missing_command(values: Values, options: dict[str, str]) -> None:
    """If the program of the recorded --command no longer exists, remove the option and print a line about that: the
    running program is used instead. With --check or --command, change nothing.
    """
    import shutil

    word = options.get(_COMMAND, "")
    if word and _COMMAND not in values and _CHECK not in values and shutil.which(word) is None:
        print(f"{printable(word)}, the command of the last installation, no longer exists.")
        del options[_COMMAND]


def check_command(word: str, root: str) -> None:
    """Raise UsageError if `word`, the recorded --command, is a program that is_own_program does not accept.

    `root` is the project folder.
    """
    from nexus_mcp.program import is_own_program

    if word and not is_own_program(word, root):
        problem = (
            f".nexus/generated.json names the command {printable(word)}, which is not nexus-mcp, or is in the project."
        )
        step = f"If you trust it, add --command {printable(word)}; else name another one with --command."
        raise UsageError(problem, next_step=step)
