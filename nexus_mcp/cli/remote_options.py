"""Options of commands that work with a server over HTTP. Local hooks import this module, so it imports little."""

from __future__ import annotations

import os

from nexus_mcp.cli.options import Option
from nexus_mcp.errors import UsageError
from nexus_mcp.remote.address import EXAMPLE, TOKEN_VARIABLE, URL_VARIABLE
from nexus_mcp.workspace import RUN_VARIABLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values

URL = Option("--url", "URL", "use a nexus-mcp server over HTTP, not local files")
TOKEN_ENV = Option("--token-env", "NAME", f"the variable with its token (default: {TOKEN_VARIABLE})")
ALLOW_HTTP = Option("--allow-http", "", "allow an http:// URL of another machine")
OPTIONS = (URL, TOKEN_ENV, ALLOW_HTTP)


def is_remote(values: Values) -> bool:
    """Return whether hooks send events to a server. A session of `nexus-mcp run` always uses the local files.

    Raise UsageError for an option that has no effect without a server.
    """
    named = URL.name in values or bool(os.environ.get(URL_VARIABLE))
    for option in (TOKEN_ENV, ALLOW_HTTP):
        if option.name in values and not named:
            raise UsageError(f"{option.name} needs {URL.name}.", next_step=f"Example: {URL.name} {EXAMPLE}")
    return named and not os.environ.get(RUN_VARIABLE)
