"""`nexus-mcp token new`, `list` and `revoke`: manage the tokens of clients that call a server over HTTP."""

from __future__ import annotations

import os
import time

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Argument, Command, Group, Option
from nexus_mcp.cli.workspace_options import JSON, print_json
from nexus_mcp.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values
    from nexus_mcp.server.http.tokens import Token

TOKENS = Option("--tokens", "FILE", "the token file (default: in your configuration folder)")
PROJECTS = Option("--projects", "NAMES", "only these projects, as in /p/NAME/mcp (default: all)")
RIGHTS = Option("--rights", "LIST", "some of read, write and close (default: all three)")
NAME = Argument("NAME", "the name of the token, which the log of changes shows")


def new(values: Values) -> int:
    """Make a token and print it; only its hash is stored. Raise UsageError, NexusError."""
    from nexus_mcp.server.http import tokens  # slow to import, and --help does not need it

    rights = _words(values.get(RIGHTS.name, ",".join(tokens.RIGHTS)))
    wrong = [right for right in rights if right not in tokens.RIGHTS]
    if wrong or not rights:
        raise UsageError(f"{RIGHTS.name} is a list of {', '.join(tokens.RIGHTS)}.", next_step="Example: read,write")
    projects = tuple(_words(values[PROJECTS.name])) if PROJECTS.name in values else None
    if projects == ():
        raise UsageError(f"{PROJECTS.name} names no project.", next_step="Leave it out for all projects.")
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    print(f"Token: {tokens.add(_path(values), values[NAME.name], projects, rights, at)}")
    print("Keep the token: it is not shown again. A running server accepts it at once.")
    return exits.OK


def show(values: Values) -> int:
    """Print names, rights and projects of the tokens, but no hash. Raise UsageError."""
    from nexus_mcp.server.http import tokens

    found = tokens.load(_path(values))
    if JSON.name in values:
        print_json({"version": 1, "tokens": [_row(token) for token in found]})
        return exits.OK
    if not found:
        print("There is no token. nexus-mcp token new NAME makes one.")
    width = max((len(token.name) for token in found), default=0)
    for token in found:
        places = "all projects" if token.projects is None else ", ".join(token.projects)
        print(f"{token.name:{width}}  {token.created_at or '-':20}  {','.join(_rights(token)):16}  {places}")
    return exits.OK


def revoke(values: Values) -> int:
    """Remove a token. Raise UsageError, NexusError."""
    from nexus_mcp.server.http import tokens

    tokens.revoke(_path(values), values[NAME.name])
    ends = "A running server ends the sessions and streams of this token within a second."
    print(f"The token {values[NAME.name]} is revoked. {ends}")
    return exits.OK


def _path(values: Values) -> str:
    from nexus_mcp.server.http import tokens

    return os.path.abspath(values[TOKENS.name]) if TOKENS.name in values else tokens.default_path()


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _rights(token: Token) -> list[str]:
    from nexus_mcp.server.http import tokens

    return [right for right in tokens.RIGHTS if right in token.rights]


def _row(token: Token) -> dict[str, object]:
    return {
        "name": token.name,
        "projects": token.projects,
        "rights": _rights(token),
        "created_at": token.created_at,
    }


NEW = Command(
    "new",
    "make a token",
    "Makes a token and prints it once: the token file has only its hash.\nThe file has mode 0600.",
    (PROJECTS, RIGHTS, TOKENS),
    new,
    argument=NAME,
    examples=(
        ("nexus-mcp token new laptop", "make a token for everything"),
        ("nexus-mcp token new ci --projects shop --rights read", "make a token that can read one project"),
    ),
)
LIST = Command(
    "list",
    "list the tokens",
    "Lists the names of the tokens with their rights, projects and time of creation.",
    (JSON, TOKENS),
    show,
    examples=(("nexus-mcp token list", "list the tokens"),),
)
REVOKE = Command(
    "revoke",
    "revoke a token",
    "Removes a token from the file. A running server ends the sessions\nand streams that use the token.",
    (TOKENS,),
    revoke,
    argument=NAME,
    examples=(("nexus-mcp token revoke laptop", "refuse this token from now on"),),
)
COMMAND = Group(
    "token",
    "make, list and revoke the tokens of clients over HTTP",
    "A client that calls nexus-mcp serve --http sends a token. Each token has a\n"
    "name for the log of changes, and can be limited to some projects and rights.",
    {"new": lambda: NEW, "list": lambda: LIST, "revoke": lambda: REVOKE},
)
