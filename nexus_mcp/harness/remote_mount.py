"""Mount a server over HTTP: the options that an installation records, and how its entries are recognized.

The token is never written: the harness and the hook read it from an environment variable at their start.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from nexus_mcp.errors import UsageError
from nexus_mcp.remote.address import TOKEN_VARIABLE, parse
from nexus_mcp.remote.connection import Connection, Unreachable

if TYPE_CHECKING:
    from collections.abc import Mapping

URL, TOKEN_ENV, ALLOW_HTTP = OPTIONS = ("--url", "--token-env", "--allow-http")
"""The options of `install` and `hook`, as recorded by an installation."""
_UNAUTHORIZED = 401
_WAIT_S = 5.0
_FROM_VARIABLE = re.compile(r"Bearer (?:\$\{\w+\}|\{env:\w+\})")


class RemoteMount(NamedTuple):
    """A server over HTTP: its URL, the variable with its token, and whether plain http:// is allowed."""

    url: str
    variable: str = TOKEN_VARIABLE
    is_plain_allowed: bool = False

    def hook_options(self) -> list[str]:
        """Return the options for `nexus-mcp hook`."""
        variable = [] if self.variable == TOKEN_VARIABLE else [TOKEN_ENV, self.variable]
        return [URL, self.url, *variable, *([ALLOW_HTTP] if self.is_plain_allowed else [])]


def mount_of(options: Mapping[str, str]) -> RemoteMount | None:
    """Return the mount in the options of an installation; None for the local server."""
    if not options.get(URL):
        return None
    return RemoteMount(options[URL], options.get(TOKEN_ENV, TOKEN_VARIABLE), ALLOW_HTTP in options)


def is_remote(value: Any) -> bool:
    """Return whether an entry of a configuration mounts a nexus-mcp over HTTP as an installation writes it."""
    if not isinstance(value, dict) or not isinstance(value.get("url"), str) or not value["url"].endswith("/mcp"):
        return False
    headers = value.get("headers")
    words = headers.get("Authorization") if isinstance(headers, dict) else None
    if isinstance(words, str):
        return _FROM_VARIABLE.fullmatch(words) is not None
    return isinstance(value.get("bearer_token_env_var"), str)


def token_notice(mount: RemoteMount, environ: Mapping[str, str]) -> str:
    """Return a sentence if the variable with the token is not set, else ""."""
    if environ.get(mount.variable):
        return ""
    return f"{mount.variable} is not set here. The harness and its hooks read the token from it when they start."


def fault_of(mount: RemoteMount) -> str:
    """Return why the server does not answer, with the next step; "" if it answers.

    Send no token: a cloned project may name any server. So the expected status is 401, for a missing token.
    """
    try:
        address = parse(mount.url, URL, is_plain_allowed=True)
    except UsageError as error:
        return str(error)
    connection = Connection(address)
    try:
        status, _ = connection.send("POST", address.hook_path, b"", "", _WAIT_S)
    except Unreachable as error:
        return (
            f"The server {address.text} {error}. {error.next_step or 'Check that it runs and that the URL is right.'}"
        )
    finally:
        connection.close()
    if status == _UNAUTHORIZED:
        return ""
    return f"{address.text} answered with status {status}. Check that it is the URL of a nexus-mcp server."
