"""The whole way, over sockets: clients find the issuer, get a token there, and use it at `serve --http`."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.client import Client as McpClient
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from tests.cli.support import COMMAND, LIMIT, environment, nexus
from tests.server.http.oauth.authorization import USER, AuthorizationServer, Running, ec
from tests.server.http.serving import ACCEPT, headers_of
from tests.support import Project
from tests.wire.connection import modern

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ASKED = {"title": "T", "context": "C"}


class Server:
    """`serve --http` with an issuer, and its URL."""

    def __init__(self, folder: Path, issuer: str, *words: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "serve", "--http", "127.0.0.1:0", "--oauth-issuer", issuer, "--oauth-only", *words],
            cwd=folder,
            env={**environment(), "XDG_CONFIG_HOME": str(folder.parent / "config"), "NEXUS_LOG": "debug"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        match = re.fullmatch(r"Listening on (http://127\.0\.0\.1:\d+/mcp) \(Ctrl-C ends it\)\n", line)
        assert match, self.process.communicate()
        self.url = match[1]

    def end(self) -> str:
        self.process.send_signal(signal.SIGTERM)
        return self.process.communicate(timeout=LIMIT)[1]


@pytest.fixture
def issuer(monkeypatch: pytest.MonkeyPatch) -> Iterator[AuthorizationServer]:
    """An authorization server of this test alone."""
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
    with Running(lambda url: AuthorizationServer(url, [ec("first")])) as made:
        yield made


class Storage(TokenStorage):
    """Keeps what the client of the SDK gets."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Browser:
    """A user who agrees: it opens the page of the issuer, which leads back with a code."""

    def __init__(self) -> None:
        self.pages: list[dict[str, list[str]]] = []
        self.back = ""

    async def open(self, url: str) -> None:
        self.pages.append(parse_qs(urlsplit(url).query))
        async with httpx2.AsyncClient() as client:
            self.back = (await client.get(url)).headers["location"]

    async def result(self) -> AuthorizationCodeResult:
        query = parse_qs(urlsplit(self.back).query)
        return AuthorizationCodeResult(code=query["code"][0], state=query["state"][0])


def provider(url: str, storage: Storage, browser: Browser) -> OAuthClientProvider:
    metadata = OAuthClientMetadata(
        client_name="Editor",
        redirect_uris=[AnyUrl("http://127.0.0.1:1/callback")],
        grant_types=["authorization_code"],
        response_types=["code"],
        token_endpoint_auth_method="none",
    )
    return OAuthClientProvider(url, metadata, storage, browser.open, browser.result)


def test_client_of_the_sdk_finds_its_way(tmp_path: Path, issuer: AuthorizationServer) -> None:
    """From the URL alone: 401, metadata, issuer, registration, code with PKCE for this resource, token, call."""
    folder = tmp_path / "project"
    folder.mkdir()
    server, storage, browser = Server(folder, issuer.issuer), Storage(), Browser()

    async def work() -> Any:
        auth = provider(server.url, storage, browser)
        http = httpx2.AsyncClient(auth=auth, timeout=LIMIT)
        async with http, McpClient(streamable_http_client(server.url, http_client=http)) as client:
            return await client.call_tool("task_add", ASKED)

    try:
        result = asyncio.run(work())
    finally:
        err = server.end()
    assert not result.is_error
    assert browser.pages[0]["resource"] == [server.url]
    assert set(browser.pages[0]["scope"][0].split()) == {"nexus:read", "nexus:write", "nexus:close"}
    assert storage.client is not None
    assert storage.tokens is not None
    log = Project(folder).get("state/oplog.jsonl").decode()
    assert f'"actor":"oauth:{USER}/{storage.client.client_id}"' in log
    assert storage.tokens.access_token not in err
    assert storage.tokens.access_token.rpartition(".")[2] not in err
    assert "Traceback" not in err


def test_client_of_the_sdk_asks_for_the_scope_that_it_lacks(tmp_path: Path, issuer: AuthorizationServer) -> None:
    """A client with one scope gets 403 for a change, asks the issuer for the scope that the challenge names, and
    repeats the call.
    """
    folder = tmp_path / "project"
    folder.mkdir()
    issuer.granted.intersection_update({"nexus:read"})
    server, browser = Server(folder, issuer.issuer), Browser()

    async def work() -> Any:
        auth = provider(server.url, Storage(), browser)
        http = httpx2.AsyncClient(auth=auth, timeout=LIMIT)
        async with http, McpClient(streamable_http_client(server.url, http_client=http)) as client:
            await client.list_tools()
            issuer.granted.add("nexus:write")
            return await client.call_tool("task_add", ASKED)

    try:
        result = asyncio.run(work())
    finally:
        server.end()
    assert not result.is_error
    assert len(browser.pages) == 2
    assert "nexus:write" in browser.pages[1]["scope"][0].split()


def credentials(issuer: AuthorizationServer, resource: str, scope: str) -> str:
    """Return a token of the client credentials grant for a registered program."""
    issuer.add_client({
        "client_id": "ci", "client_secret": "s", "redirect_uris": [], "grant_types": ["client_credentials"],
        "token_endpoint_auth_method": "client_secret_basic",
    })  # fmt: skip
    form = {"grant_type": "client_credentials", "resource": resource, "scope": scope}
    answer = httpx2.post(f"{issuer.issuer}/token", data=form, auth=("ci", "s"))
    return str(answer.json()["access_token"])


def test_program_with_credentials_has_its_rights(tmp_path: Path, issuer: AuthorizationServer) -> None:
    """A token of the client credentials grant allows what its scopes say; one for another server gets 401."""
    folder = tmp_path / "project"
    folder.mkdir()
    server = Server(folder, issuer.issuer, "--oauth-jwks", f"{issuer.issuer}/jwks")

    def ask(token: str, tool: str, arguments: Any) -> httpx2.Response:
        message = modern(1, "tools/call", name=tool, arguments=arguments)
        headers = {"authorization": f"Bearer {token}", "accept": ACCEPT, **headers_of(message)}
        return httpx2.post(server.url, json=message, headers=headers, timeout=LIMIT)

    try:
        token = credentials(issuer, server.url, "nexus:read")
        assert ask(token, "task_list", {}).status_code == 200
        refused = ask(token, "task_add", ASKED)
        assert refused.status_code == 403
        assert 'scope="nexus:write"' in refused.headers["www-authenticate"]
        assert ask(credentials(issuer, "http://127.0.0.1:1/mcp", "nexus:read"), "task_list", {}).status_code == 401
        token = credentials(issuer, server.url, "nexus:read nexus:write")
        assert ask(token, "task_add", ASKED).status_code == 200
    finally:
        server.end()
    assert '"actor":"oauth:ci/ci"' in Project(folder).get("state/oplog.jsonl").decode()


START = ("--oauth-issuer", "https://login.example.org")
REFUSED = {
    ("--oauth-issuer", "http://login.example.org"): "--oauth-issuer needs https",
    ("--oauth-issuer", "login.example.org"): "is no URL that can be used here",
    ("--oauth-issuer", "https://user@login.example.org"): "is no URL that can be used here",
    ("--oauth-issuer", "https://login.example.org?a=1"): "is no URL that can be used here",
    ("--oauth-issuer", 'https://login.example.org/"'): "is no URL that can be used here",
    ("--oauth-issuer", "https://[1:2]/"): "is no URL that can be used here",
    ("--oauth-issuer", "https://login.example.org:70000"): "is no URL that can be used here",
    ("--oauth-issuer", "http://localhost.example.org"): "--oauth-issuer needs https",
    (*START, "--oauth-jwks", "http://login.example.org/jwks"): "--oauth-jwks needs https",
    (*START, "--oauth-audience", "http://nexus.example.org"): "--oauth-audience needs https",
    (*START, "--oauth-audience", "https://nexus.example.org/mcp"): "--oauth-audience names the server, without /mcp",
    (*START, "--behind-proxy", "--allow-host", "a.example"): "needs the URL of this server",
    ("--oauth-audience", "https://nexus.example.org"): "--oauth-audience needs --oauth-issuer",
    ("--oauth-only",): "--oauth-only needs --oauth-issuer",
    ("--forwarded-from", "10.0.0.5"): "--forwarded-from needs --behind-proxy",
    (*START, "--oauth-audience", "https://a.example", "--behind-proxy", "--allow-host", "a.example",
     "--forwarded-from", "proxy.example"): "is no address and no network",
}  # fmt: skip


@pytest.mark.parametrize("words", REFUSED)
def test_it_refuses_to_start(tmp_path: Path, words: tuple[str, ...]) -> None:
    """The server ends with code 2 if strangers could make tokens or no token could be valid."""
    env = {"XDG_CONFIG_HOME": str(tmp_path.parent / "config")}
    ran = nexus("serve", "--http", "127.0.0.1:0", *words, cwd=tmp_path, env=env)
    assert (ran.code, ran.out) == (2, "")
    assert REFUSED[words] in ran.err


def test_exposed_server_needs_no_other_tokens(tmp_path: Path) -> None:
    """With an issuer the server needs no token file. It starts although the issuer does not answer, and logs that."""
    folder = tmp_path / "project"
    folder.mkdir()
    words = ("--behind-proxy", "--allow-host", "nexus.example.org", "--oauth-audience", "https://nexus.example.org")
    server = Server(folder, "http://127.0.0.1:1", *words)
    head = {"host": "nexus.example.org"}
    try:
        answer = httpx2.post(server.url, headers=head, timeout=LIMIT)
        assert answer.status_code == 401
        url = "https://nexus.example.org/.well-known/oauth-protected-resource/mcp"
        assert f'resource_metadata="{url}"' in answer.headers["www-authenticate"]
    finally:
        err = server.end()
    assert "the keys of http://127.0.0.1:1 cannot be fetched: " in err
