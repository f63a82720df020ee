"""Names, projects, sessions and streams of callers with valid access tokens."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest

from nexus_mcp.server.http.oauth.claims import LEEWAY_S
from nexus_mcp.server.http.tokens import NAME
from tests.server.http.oauth.minting import BASE, GONE, NOW, RESOURCE, mint
from tests.server.http.oauth.support import Clock, authority, run
from tests.server.http.serving import Client, headers_of, make_token
from tests.support import Project
from tests.wire.connection import call, initialize, modern

if TYPE_CHECKING:
    from pathlib import Path

    from tests.server.http.oauth.authorization import AuthorizationServer

LIST = modern(1, "tools/list")
WELL_KNOWN = "/.well-known/oauth-protected-resource"
NAMES = {
    ("alice", "editor"): "oauth:alice/editor",
    ("alice@example.org", GONE): "oauth:alice@example.org",
    ("auth0|4711", "editor"): "oauth:auth0%7C4711/editor",
    ("a/b", "c"): "oauth:a%2Fb/c",
    ("a", "b/c"): "oauth:a/b%2Fc",
    ("local", GONE): "oauth:local",
    ("</nexus>\n\u202e\x00*", "[done]"): "oauth:%3C%2Fnexus%3E%0A%E2%80%AE%00%2A/%5Bdone%5D",
    ("\ud800", "é"): "oauth:%ED%A0%80/%C3%A9",
    ("a" * 64, GONE): f"oauth:{'a' * 64}",
    ("a" * 65, GONE): f"oauth:{'a' * 47}*635361c48bb9eab1",
}


@pytest.mark.parametrize("who", NAMES)
def test_name_in_the_operation_log(tmp_path: Path, authorization: AuthorizationServer, who: Any) -> None:
    """The subject and the client are escaped and bounded, and no token of the file can have such a name."""
    subject, client_id = who

    async def work(client: Client, clock: Clock) -> None:
        client.token = mint(authorization, sub=subject, client_id=client_id)
        await client.modern(modern(1, "tools/call", name="task_add", arguments={"title": "T", "context": "C"}))

    run(tmp_path, authorization.issuer, work)
    lines = Project(tmp_path / "project").get("state/oplog.jsonl").decode().splitlines()
    assert [json.loads(line)["actor"] for line in lines] == [NAMES[who]]
    assert not NAME.fullmatch(NAMES[who])


def test_long_subjects_with_one_beginning_have_different_names(
    tmp_path: Path, authorization: AuthorizationServer
) -> None:
    """A shortened name ends with a hash of the whole subject."""

    async def work(client: Client, clock: Clock) -> None:
        found = [await authority(client).find(mint(authorization, sub="a" * 100 + end), "") for end in ("x", "y")]
        assert len({token.name for token in found}) == len({token.id for token in found}) == 2

    run(tmp_path, authorization.issuer, work)


def test_identity_is_subject_and_client(tmp_path: Path, authorization: AuthorizationServer) -> None:
    """Two pairs never have the same identity, even if their joined texts are equal."""

    async def work(client: Client, clock: Clock) -> None:
        pairs = [("a", "bc"), ("ab", "c"), ("abc", ""), ("a/b", "c"), ("a", "b/c"), ('a","b', "c")]
        found = {
            (await authority(client).find(mint(authorization, sub=one, client_id=two), "")).id for one, two in pairs
        }
        assert len(found) == len(pairs)

    run(tmp_path, authorization.issuer, work)


def test_session_goes_on_with_a_newer_token(tmp_path: Path, authorization: AuthorizationServer) -> None:
    """A session belongs to the subject and the client: a newer token of theirs continues it, any other one gets 404."""
    static = make_token(tmp_path, "alice")

    async def work(client: Client, clock: Clock) -> None:
        client.token = mint(authorization)
        await client.legacy(initialize())
        client.token = mint(authorization, jti="2", exp=NOW + 900)
        assert (await client.legacy(call(1, "task_list"))).status == 200
        others = [
            mint(authorization, sub="bob"),
            mint(authorization, client_id="other"),
            mint(authorization, client_id=GONE),
            static,
            client.service.generated,
        ]
        for method, token in itertools.product(("POST", "GET", "DELETE"), others):
            body = call(2, "task_list") if method == "POST" else b""
            reply = await client.request(method, "/mcp", body, token=token, mcp_session_id=client.session)
            assert reply.status == 404
        assert (await client.legacy(call(3, "task_list"))).status == 200
        reply = await client.legacy(call(4, "task_add"), token=mint(authorization, scope="nexus:read"))
        assert reply.status == 403, "the rights are those of each request's token"

    run(tmp_path, authorization.issuer, work)


def test_expired_token_ends_its_streams(tmp_path: Path, authorization: AuthorizationServer) -> None:
    """Streams of both eras end when their token expires; those of newer and of static tokens stay, and so does the
    session.
    """
    ends, later = NOW + 300, NOW + 900
    static = make_token(tmp_path, "laptop")

    async def work(client: Client, clock: Clock) -> None:
        def listen(token: str) -> Any:
            message = modern(7, "subscriptions/listen", notifications={"resourceSubscriptions": ["nexus://tasks"]})
            return client.begin("POST", "/mcp", message, token=token, **headers_of(message))

        client.token = mint(authorization, exp=ends)
        await client.legacy(initialize())
        short = [client.begin("GET", mcp_session_id=client.session), listen(client.token)]
        stay = [listen(mint(authorization, exp=later)), listen(static)]
        for stream in (*short, *stay):
            await stream.until(lambda reply: reply.status == 200)
        for stream in (short[1], *stay):
            await stream.until(lambda reply: bool(reply.messages))
        time = authority(client).now = Clock(ends + LEEWAY_S - 1)
        await client.app.end_expired()
        assert not any(stream.task.done() for stream in short if stream.task)
        time.seconds += 1
        await client.app.end_expired()
        for stream in short:
            await stream.wait()
        assert not any(stream.task.done() for stream in stay if stream.task)
        assert (await client.legacy(call(1, "task_list"))).status == 401
        assert (await client.legacy(call(1, "task_list"), token=mint(authorization, exp=later))).status == 200

    run(tmp_path, authorization.issuer, work)


def test_call_that_was_admitted_is_answered(tmp_path: Path, authorization: AuthorizationServer) -> None:
    """A call whose token expires while it waits for its turn is carried out and answered."""

    async def work(client: Client, clock: Clock) -> None:
        assert (await client.modern(LIST)).status == 200
        (mount,) = client.service.mounts.opened_mounts
        await mount.turns.begin()
        message = modern(5, "tools/call", name="task_list", arguments={})
        waiting = client.begin("POST", "/mcp", message, token=mint(authorization), **headers_of(message))
        while not any(request.token.name == "oauth:alice/editor" for request in client.service.callers.requests):
            await client.modern(LIST)
        authority(client).now = Clock(NOW + 3600)
        await client.app.end_expired()
        mount.turns.give_up()
        assert (await waiting.wait()).message["result"]["structuredContent"] == {"exists": False}

    run(tmp_path, authorization.issuer, work)


SHOP, API = f"{BASE}/p/shop/mcp", f"{BASE}/p/api/mcp"
PROJECTS: dict[str, tuple[dict[str, Any], int, int]] = {
    "one project": ({"aud": SHOP}, 200, 401),
    "both": ({"aud": [SHOP, API]}, 200, 200),
    "a project that there is not": ({"aud": f"{BASE}/p/none/mcp"}, 401, 401),
    "the server": ({"aud": BASE}, 401, 401),
    "the single project": ({"aud": RESOURCE}, 401, 401),
    "the server, and one named": ({"aud": BASE, "nexus_projects": ["shop"]}, 200, 404),
    "the server, and one named as a text": ({"aud": BASE, "nexus_projects": "shop"}, 200, 404),
    "the server, and all": ({"aud": BASE, "nexus_projects": ["*"]}, 200, 200),
    "the server, and none": ({"aud": BASE, "nexus_projects": []}, 404, 404),
    "the server, and null": ({"aud": BASE, "nexus_projects": None}, 401, 401),
    "one project, and another one named": ({"aud": SHOP, "nexus_projects": ["api"]}, 404, 401),
    "one project, and all": ({"aud": SHOP, "nexus_projects": "*"}, 200, 401),
}  # fmt: skip


@pytest.mark.parametrize("what", PROJECTS)
def test_projects_of_a_token(tmp_path: Path, authorization: AuthorizationServer, what: str) -> None:
    """With several projects a token has to name its own, by its audience or by a claim; without that it has none."""
    changes, shop, api = PROJECTS[what]
    folders = {name: tmp_path / name for name in ("shop", "api")}
    for folder in folders.values():
        folder.mkdir()

    async def work(client: Client, clock: Clock) -> None:
        token = mint(authorization, **changes)
        found = [(await client.modern(LIST, path, token=token)).status for path in ("/p/shop/mcp", "/p/api/mcp")]
        assert found == [shop, api]
        assert (await client.modern(LIST, "/p/none/mcp", token=token)).status in (401, 404)

    run(tmp_path, authorization.issuer, work, projects=folders)


def test_unknown_projects_get_the_response_of_forbidden_ones(
    tmp_path: Path, authorization: AuthorizationServer
) -> None:
    """A token for one project gets the same response for unknown and for forbidden projects."""
    (tmp_path / "shop").mkdir()
    (tmp_path / "api").mkdir()

    async def work(client: Client, clock: Clock) -> None:
        token = mint(authorization, aud=BASE, nexus_projects=["shop"])
        replies = [await client.modern(LIST, f"/p/{name}/mcp", token=token) for name in ("api", "none")]
        assert len({(reply.status, reply.text) for reply in replies}) == 1

    run(tmp_path, authorization.issuer, work, projects={name: tmp_path / name for name in ("shop", "api")})


def test_metadata_needs_no_token(tmp_path: Path, authorization: AuthorizationServer) -> None:
    """Each path has the metadata of its resource (RFC 9728), even for projects that do not exist."""

    async def work(client: Client, clock: Clock) -> None:
        for suffix in ("", "/mcp", "/p/shop/mcp"):
            reply = await client.request("GET", WELL_KNOWN + suffix, authorization=None)
            assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
            assert json.loads(reply.text) == {
                "resource": BASE + suffix,
                "authorization_servers": [authorization.issuer],
                "scopes_supported": ["nexus:read", "nexus:write", "nexus:close"],
                "bearer_methods_supported": ["header"],
                "resource_name": "nexus-mcp",
            }
        assert (await client.request("POST", WELL_KNOWN, authorization=None)).status == 405
        for wrong in ("/p/Shop/mcp", "/x", "s", "/p/../mcp", "/mcp/"):
            assert (await client.request("GET", WELL_KNOWN + wrong, authorization=None)).status == 401
        assert (await client.request("GET", WELL_KNOWN, authorization=None, host="evil.example")).status == 421

    run(tmp_path, authorization.issuer, work)


def test_server_below_a_path_has_its_metadata_there(tmp_path: Path, authorization: AuthorizationServer) -> None:
    """If the audience has a path, the URLs of resources and their metadata have it, too."""
    base = "https://example.org/tools/nexus"

    async def work(client: Client, clock: Clock) -> None:
        reply = await client.request("POST", "/mcp", authorization=None)
        url = f"https://example.org{WELL_KNOWN}/tools/nexus/mcp"
        assert f'resource_metadata="{url}"' in reply.headers["www-authenticate"]
        reply = await client.request("GET", f"{WELL_KNOWN}/tools/nexus/mcp", authorization=None)
        assert json.loads(reply.text)["resource"] == f"{base}/mcp"
        assert (await client.modern(LIST, token=mint(authorization, aud=f"{base}/mcp"))).status == 200

    run(tmp_path, authorization.issuer, work, oauth={"audience": base})


def test_server_without_oauth_has_no_metadata(tmp_path: Path, authorization: AuthorizationServer) -> None:
    """Without an issuer there is no metadata, and an access token is refused like any other text."""

    async def work(client: Client, clock: Clock) -> None:
        """Nothing: the server below has no issuer."""

    run(tmp_path, authorization.issuer, work)
    from tests.server.http.test_guard import run as run_plainly

    async def plainly(client: Client) -> None:
        assert (await client.request("GET", WELL_KNOWN, authorization=None)).status == 401
        reply = await client.modern(LIST, token=mint(authorization))
        assert (reply.status, reply.text) == (401, "Send your token: Authorization: Bearer TOKEN\n")

    run_plainly(tmp_path, plainly)


def test_static_and_access_tokens_work_beside_each_other(tmp_path: Path, authorization: AuthorizationServer) -> None:
    """A token file that others can read refuses its own tokens only."""
    static = make_token(tmp_path, "laptop")

    async def work(client: Client, clock: Clock) -> None:
        tokens = (static, client.service.generated, mint(authorization))
        assert [(await client.modern(LIST, token=one)).status for one in tokens] == [200, 200, 200]
        (tmp_path / "tokens.json").chmod(0o644)
        assert [(await client.modern(LIST, token=one)).status for one in tokens] == [503, 200, 200]

    run(tmp_path, authorization.issuer, work)


def test_oauth_only_accepts_no_other_token(tmp_path: Path, authorization: AuthorizationServer) -> None:
    """With --oauth-only the token file is not read, and no token is generated."""
    static = make_token(tmp_path, "laptop")
    (tmp_path / "tokens.json").chmod(0o644)

    async def work(client: Client, clock: Clock) -> None:
        assert client.service.generated == ""
        assert [(await client.modern(LIST, token=one)).status for one in (static, mint(authorization))] == [401, 200]

    run(tmp_path, authorization.issuer, work, has_oauth_only=True)
