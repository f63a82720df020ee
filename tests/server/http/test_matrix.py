"""Each wrong combination of Host, Origin, token, project, right and era is refused, and each right one is answered."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from nexus_mcp.server.http.rights import right_of
from nexus_mcp.tools import TOOLS
from tests.server.http.serving import HOST, Client, make_token
from tests.server.http.test_guard import run
from tests.support import Project
from tests.wire.connection import initialize, modern, request

if TYPE_CHECKING:
    from pathlib import Path

Json = Any
HOSTS = {HOST: True, "localhost:8750": True, "evil.example": False}
ORIGINS = {None: True, f"http://{HOST}": True, "http://evil.example": False}
PROJECTS = ("shop", "api", "none")
SERVED = ("shop", "api")


class Holder(NamedTuple):
    """A token: its projects and rights. `is_known` is False for a text that is no token."""

    text: str
    projects: tuple[str, ...]
    rights: frozenset[str]
    is_known: bool = True


def holders(tmp_path: Path) -> list[Holder]:
    """Return tokens with each right alone, with all, for one project, and two texts that are none."""
    every = ("read", "write", "close")
    rows = [(SERVED, every), (("shop",), every), *((SERVED, (right,)) for right in every), (("api",), ("read",))]
    found = []
    for number, (projects, rights) in enumerate(rows):
        named = None if projects == SERVED else projects
        text = make_token(tmp_path, f"t{number}", *rights, projects=named)
        found.append(Holder(text, projects, frozenset(rights)))
    return [*found, Holder(f"{found[0].text[:-1]}!", (), frozenset(), False), Holder("", (), frozenset(), False)]


def expected(host: str, origin: str | None, holder: Holder, project: str, right: str) -> int:
    """Return the status of a request: that of the first check that it fails."""
    if not HOSTS[host]:
        return 421
    if not ORIGINS[origin]:
        return 403
    if not holder.is_known:
        return 401
    if project not in SERVED or project not in holder.projects:
        return 404
    return 200 if right in holder.rights else 403


@pytest.mark.parametrize("era", ["modern", "legacy", "stateless"])
def test_only_right_combinations_are_answered(tmp_path: Path, era: str) -> None:
    """Each of the combinations gets the status of the first check that it fails, and none changes a file."""
    folders = {name: tmp_path / name for name in SERVED}
    for folder in folders.values():
        folder.mkdir()
    by_right = {right_of(tool): tool.name for tool in TOOLS}
    every = holders(tmp_path)
    counts = {200: 0, 401: 0, 403: 0, 404: 0, 421: 0}

    async def session(client: Client, holder: Holder, project: str) -> dict[str, str]:
        if era != "legacy" or not holder.is_known or project not in holder.projects:
            return {}
        reply = await client.request("POST", f"/p/{project}/mcp", initialize(), token=holder.text)
        assert reply.status == 200
        return {"mcp_session_id": reply.headers["mcp-session-id"]}

    async def work(client: Client) -> None:
        for holder, project in itertools.product(every, PROJECTS):
            headers = await session(client, holder, project)
            for host, origin, right in itertools.product(HOSTS, ORIGINS, by_right):
                params: Json = {"name": by_right[right], "arguments": {"wrong": 1}}
                send, message = client.modern, modern(1, "tools/call", **params)
                if era != "modern":
                    send, message = client.legacy, request(1, "tools/call", params)
                path, more = f"/p/{project}/mcp", {**headers, "host": host, "origin": origin}
                reply = await send(message, path, token=holder.text, **more)
                assert reply.status == expected(host, origin, holder, project, right), (more, holder, project, right)
                assert (reply.status == 200) == ("unknown parameter" in reply.text)
                counts[reply.status] += 1

    run(tmp_path, work, projects=folders, is_stateless=era == "stateless")
    assert sum(counts.values()) == len(every) * len(PROJECTS) * len(HOSTS) * len(ORIGINS) * len(by_right)
    assert all(counts.values())
    assert not any(Project(folder).snapshot() for folder in folders.values())
