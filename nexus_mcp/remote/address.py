"""Parse the URL of a nexus-mcp server, and refuse a URL that would show a token to strangers.

No message quotes the URL, because it may contain a password.
"""

from __future__ import annotations

from nexus_mcp.errors import UsageError

URL_VARIABLE = "NEXUS_URL"
TOKEN_VARIABLE = "NEXUS_TOKEN"  # noqa: S105 - the name of a variable
EXAMPLE = "https://nexus.example.org/p/shop/mcp"
_PORTS = {"http": 80, "https": 443}
_LAST_PORT = 65535
_LONGEST = 2000
_MCP, _HOOK = "/mcp", "/hook"
_IN_NAMES = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-._")
_IN_IPV6 = frozenset("0123456789abcdef:.")
_IN_PATHS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")
_IN_VARIABLES = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")


class Address:
    """The URL of a server: `text` is the whole URL as a harness gets it. `path` ends with /mcp."""

    __slots__ = ("host", "path", "port", "scheme")

    def __init__(self, scheme: str, host: str, port: int, path: str) -> None:
        self.scheme = scheme
        self.host = host
        self.port = port
        self.path = path

    @property
    def authority(self) -> str:
        """Return host and port in the form of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def text(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def hook_path(self) -> str:
        """Return the path for hook events."""
        return self.path.removesuffix(_MCP) + _HOOK

    @property
    def is_local(self) -> bool:
        """Return whether the host is the loopback of this machine."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Return whether a host in lower case is this machine's loopback."""
    numbers = host.split(".")
    is_ipv4 = len(numbers) == 4 and numbers[0] == "127" and all(one.isdigit() and int(one) < 256 for one in numbers)
    return host in ("localhost", "::1") or is_ipv4


def parse(text: str, source: str, *, is_plain_allowed: bool = False) -> Address:
    """Return the address of a URL. `source` is the option or variable with the URL. Raise UsageError.

    An http:// URL of another host than loopback is refused unless `is_plain_allowed`.
    """
    scheme, separator, rest = text.partition("://")
    scheme = scheme.lower()
    if not separator or scheme not in _PORTS or len(text) > _LONGEST:
        raise _fault(source, "needs a URL that begins with https:// or http://")
    authority, slash, path = rest.partition("/")
    if "@" in authority:
        raise _fault(source, "may not have a user name or a password: the token comes from a variable")
    if any(char in rest for char in "?#"):
        raise _fault(source, "may not have a query or a fragment")
    host, port = _host(authority, scheme, source)
    path = slash + path
    if not _IN_PATHS.issuperset(path) or "//" in path or ".." in path.split("/"):
        raise _fault(source, "has a path with // or .., or with other characters than letters, digits and -._~/")
    if not path.endswith(_MCP):
        raise _fault(source, "needs the whole URL of the server, which ends with /mcp")
    found = Address(scheme, host, port, path)
    if scheme == "http" and not found.is_local and not is_plain_allowed:
        raise UsageError(
            f"{source} is an http:// URL of another machine: the token would cross the network in clear text.",
            next_step="Use https://, or add --allow-http if a tunnel of yours protects the connection.",
        )
    return found


def check_variable(name: str, option: str) -> str:
    """Return `name`. Raise UsageError unless it can name an environment variable in every harness, and for a name that
    looks like a token.
    """
    if not name or not _IN_VARIABLES.issuperset(name) or name[0].isdigit():
        raise UsageError(
            f"{option} needs the name of an environment variable, not {name[:40]!r}.",
            next_step=f"Example: {option} {TOKEN_VARIABLE}",
        )
    if name.startswith("nexus_") and len(name) > len("nexus_") + 40:
        raise UsageError(
            f"{option} takes the name of a variable, and this looks like a token.",
            next_step=f"Put the token into {TOKEN_VARIABLE}, and leave the option out.",
        )
    return name


def _host(authority: str, scheme: str, source: str) -> tuple[str, int]:
    """Return (host, port). Raise UsageError."""
    host, _, digits = authority.lower().rpartition(":")
    if authority.startswith("["):
        host, end, digits = authority.lower()[1:].partition("]")
        is_host = bool(end) and ":" in host and _IN_IPV6.issuperset(host) and digits[:1] in ("", ":")
        digits = digits[1:]
    else:
        host, digits = (host, digits) if ":" in authority else (authority.lower(), "")
        is_host = bool(host) and _IN_NAMES.issuperset(host)
    port = _PORTS[scheme] if not digits else int(digits) if digits.isascii() and digits.isdigit() else 0
    if not is_host or not 0 < port <= _LAST_PORT:
        raise _fault(source, "has no host name, or no port from 1 to 65535")
    return host, port


def _fault(source: str, problem: str) -> UsageError:
    return UsageError(f"{source} {problem}.", next_step=f"Example: {EXAMPLE}")
