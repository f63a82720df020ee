"""Put a server together from its settings. Refuse settings that would let strangers call it."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from nexus_mcp.errors import UsageError
from nexus_mcp.program import command
from nexus_mcp.server.http import address, tokens
from nexus_mcp.server.http.callers import Callers, Tokens
from nexus_mcp.server.http.forwarded import Proxies
from nexus_mcp.server.http.limits import EXPOSED_RATE, Limits, Rates
from nexus_mcp.server.http.metrics.counters import ServerMetrics
from nexus_mcp.server.http.mounts import Mounts
from nexus_mcp.server.http.oauth.settings import ISSUER, OAuthSettings, check_oauth
from nexus_mcp.server.http.rights import Rights

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from nexus_mcp.server.app import App
    from nexus_mcp.server.http.address import Names, Place
    from nexus_mcp.server.http.oauth.authority import Authority
    from nexus_mcp.server.observing import Observer
    from nexus_mcp.server.telemetry import Telemetry
    from nexus_mcp.workspace import Workspace

FORWARDED_FROM = "--forwarded-from"
LOCAL = "local"
"""The name of the token that is generated for a server on loopback."""


@dataclass(frozen=True)
class Settings:
    """The options of the command line. `token_file` is "" for the default path; `rate` is None for the default."""

    place: Place
    project: str = ""
    projects: str = ""
    is_stateless: bool = False
    token_file: str = ""
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    certfile: str = ""
    keyfile: str = ""
    is_behind_proxy: bool = False
    rate: int | None = None
    connections: int = Limits.connections
    oauth: OAuthSettings | None = None
    has_oauth_only: bool = False
    forwarded_from: tuple[str, ...] = ()

    @property
    def is_exposed(self) -> bool:
        """Return whether other machines can reach the server."""
        return self.is_behind_proxy or not self.place.is_local

    @property
    def file(self) -> str:
        """Return the path of the token file, "" if the server accepts no token file."""
        return "" if self.has_oauth_only else self.token_file or tokens.default_path()


@dataclass(frozen=True)
class Service:
    """The parts of a server. `pages` are the origins of web pages that may call it. `generated` is the token of this
    run, "" if none was generated.
    """

    names: Names
    pages: frozenset[str]
    tokens: Tokens
    oauth: Authority | None
    proxies: Proxies
    rates: Rates
    mounts: Mounts
    callers: Callers
    rights: Rights
    limits: Limits
    is_stateless: bool
    generated: str
    metrics: ServerMetrics


def check(settings: Settings) -> None:
    """Raise UsageError for settings that contradict each other or would let strangers in."""
    address.check_hosts(settings.hosts, "--allow-host")
    address.check_origins(settings.origins, "--allow-origin")
    if bool(settings.certfile) != bool(settings.keyfile):
        raise UsageError("--certfile and --keyfile belong together.", next_step="Name both of them.")
    if settings.oauth is not None:
        check_oauth(settings.oauth, is_exposed=settings.is_exposed)
    if settings.forwarded_from and not settings.is_behind_proxy:
        raise UsageError(f"{FORWARDED_FROM} needs --behind-proxy.", next_step="Add it, if a proxy of yours does TLS.")
    if not settings.is_exposed:
        return
    where = "behind a proxy" if settings.is_behind_proxy else f"on {settings.place.host}"
    if not settings.hosts:
        raise UsageError(
            f"A server {where} needs the names by which clients call it.",
            next_step="Name each: --allow-host nexus.example.org",
        )
    if not (settings.certfile or settings.is_behind_proxy):
        raise UsageError(
            f"A server {where} needs TLS: tokens would cross the network in clear text.",
            next_step="Add --certfile and --keyfile, or --behind-proxy if a proxy of yours does TLS.",
        )
    if not (settings.oauth or tokens.load(settings.file)):
        raise UsageError(
            f"A server {where} needs tokens.",
            next_step=f"Make one: {command('token new NAME')}. Or accept tokens of an issuer: {ISSUER} URL",
        )


def make_service(
    settings: Settings,
    listener: socket.socket | None,
    open_workspace: Callable[[str], Workspace],
    make_app: Callable[[Workspace], App],
    *,
    prefix: str = "",
    limits: Limits | None = None,
    telemetry: Telemetry | None = None,
) -> Service:
    """Return the parts of the server. The port of `listener`, if any, replaces that of `place`. Raise UsageError."""
    check(settings)
    place = settings.place if listener is None else settings.place._replace(port=listener.getsockname()[1])
    rate = (EXPOSED_RATE if settings.is_exposed else 0) if settings.rate is None else settings.rate
    limits = limits or replace(Limits(), rate=rate, connections=settings.connections)
    metrics = ServerMetrics()

    def observers_of(name: str, label: str) -> list[Observer]:
        return [metrics.of_project(name, label), *([telemetry.of_project(label)] if telemetry else [])]

    mounts = Mounts(
        open_workspace,
        make_app,
        limits,
        single=settings.project,
        file=settings.projects,
        is_stateless=settings.is_stateless,
        observers_of=observers_of,
        check=partial(_check_outside, settings.file),
    )
    generated = "" if settings.is_exposed or settings.has_oauth_only else tokens.generate()
    return Service(
        names=address.names_for(place, settings.hosts, settings.origins, is_tls=bool(settings.certfile)),
        pages=frozenset(origin.lower() for origin in settings.origins),
        tokens=Tokens(settings.file, [_local(generated)] if generated else []),
        oauth=_authority(settings, place),
        proxies=Proxies(settings.forwarded_from, FORWARDED_FROM),
        rates=Rates(limits.rate),
        mounts=mounts,
        callers=Callers(limits.sessions, limits.session_idle_s),
        rights=Rights(prefix),
        limits=limits,
        is_stateless=settings.is_stateless,
        generated=generated,
        metrics=metrics,
    )


def _authority(settings: Settings, place: Place) -> Authority | None:
    """Return the Authority for access tokens, None without OAuth."""
    if settings.oauth is None:
        return None
    from nexus_mcp.server.http.oauth.authority import make_authority  # its libraries are slow to import

    return make_authority(settings.oauth, place, is_tls=bool(settings.certfile), has_projects=bool(settings.projects))


def _local(text: str) -> tokens.Token:
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return tokens.Token(LOCAL, tokens.hash_of(text), None, frozenset(tokens.RIGHTS), at, is_generated=True)


def _check_outside(file: str, roots: Collection[str]) -> None:
    real = os.path.realpath(file)
    for root in roots if file else ():
        if real.startswith(os.path.join(os.path.realpath(root), "")):
            raise UsageError(
                f"The token file {file!r} is inside the project {root!r}, and clones or copies would contain it.",
                next_step="Keep it elsewhere: --tokens FILE",
            )
