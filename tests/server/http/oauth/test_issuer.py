"""The keys of the issuer are found, fetched again and withdrawn; without keys, access tokens get 503."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from nexus_mcp.server.http.oauth import fetch
from nexus_mcp.server.http.oauth.issuer import FRESH_S, LONGEST_S, PAUSE_S
from tests.server.http.certificates import certificate
from tests.server.http.oauth.authorization import AuthorizationServer, Running, ec
from tests.server.http.oauth.minting import mint
from tests.server.http.oauth.support import authority, run
from tests.wire.connection import modern

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from starlette.requests import Request

    from tests.server.http.oauth.support import Clock
    from tests.server.http.serving import Client

LIST = modern(1, "tools/list")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[AuthorizationServer]:
    """An authorization server of this test alone, with one key."""
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
    with Running(lambda url: AuthorizationServer(url, [ec("first")])) as made:
        yield made


async def status(client: Client, token: str) -> int:
    return (await client.modern(LIST, token=token)).status


async def settled(client: Client) -> None:
    """Wait for the fetch that runs."""
    task = authority(client).issuer._task
    if task is not None:
        await task


def test_new_key_is_accepted_after_the_pause(tmp_path: Path, server: AuthorizationServer) -> None:
    """A token of a key that is newer than ours holds at once, unless keys were fetched within the pause."""

    async def work(client: Client, clock: Clock) -> None:
        old = mint(server)
        assert await status(client, old) == 200
        server.keys.append(ec("second"))
        new = mint(server)
        clock.seconds = PAUSE_S - 1
        assert await status(client, new) == 401
        clock.seconds = PAUSE_S
        assert [await status(client, one) for one in (new, old)] == [200, 200]
        assert server.fetches == 2

    run(tmp_path, server.issuer, work)


def test_withdrawn_key_ends(tmp_path: Path, server: AuthorizationServer) -> None:
    """The token after the keys have grown old causes a fetch; once that has ended, withdrawn keys do not hold."""

    async def work(client: Client, clock: Clock) -> None:
        old = mint(server)
        assert await status(client, old) == 200
        server.keys[:] = [ec("second")]
        clock.seconds = FRESH_S - 1
        assert await status(client, old) == 200
        clock.seconds = FRESH_S
        assert await status(client, old) == 200  # it does not wait for the fetch
        await settled(client)
        assert [await status(client, one) for one in (old, mint(server))] == [401, 200]
        assert server.fetches == 2

    run(tmp_path, server.issuer, work)


def test_new_key_of_tokens_without_key_id_is_accepted(tmp_path: Path, server: AuthorizationServer) -> None:
    """A token without a key id whose signature does not fit may be of a newer key, too."""

    async def work(client: Client, clock: Clock) -> None:
        assert await status(client, mint(server, header={"kid": ""})) == 200
        server.keys[:] = [ec("second")]
        clock.seconds = PAUSE_S
        assert await status(client, mint(server, header={"kid": ""})) == 200
        server.keys.append(ec("third"))
        clock.seconds = 2 * PAUSE_S
        assert await status(client, mint(server)) == 200
        for _ in server.keys:  # whichever of them has signed it
            assert await status(client, mint(server, header={"kid": ""})) == 401, "two keys would do"
            server.keys.reverse()

    run(tmp_path, server.issuer, work)


def test_access_tokens_get_503_while_the_issuer_is_down(tmp_path: Path, server: AuthorizationServer) -> None:
    """Without keys access tokens get 503, and static tokens are valid. There is one fetch in each pause."""

    async def work(client: Client, clock: Clock) -> None:
        server.is_down = True
        for _ in range(3):
            reply = await client.modern(LIST, token=mint(server))
            assert (reply.status, reply.headers["retry-after"]) == (503, "10")
            assert reply.text == "The server cannot get the keys of the issuer now.\n"
        assert server.fetches == 1
        assert await status(client, client.token) == 200
        server.is_down = False
        clock.seconds = PAUSE_S
        assert await status(client, mint(server)) == 200

    run(tmp_path, server.issuer, work)


def test_document_that_a_library_cannot_take_is_no_defect_of_a_request(
    tmp_path: Path, server: AuthorizationServer
) -> None:
    """An error that nothing expects lets no token in, as any other failed fetch."""

    async def work(client: Client, clock: Clock) -> None:
        async def fail(url: str) -> Any:
            raise RuntimeError(url)

        issuer = authority(client).issuer
        get, issuer._fetcher.get = issuer._fetcher.get, fail  # type: ignore[method-assign]
        assert await status(client, mint(server)) == 503
        issuer._fetcher.get = get  # type: ignore[method-assign]
        clock.seconds = PAUSE_S
        assert await status(client, mint(server)) == 200

    run(tmp_path, server.issuer, work)


def test_known_keys_outlive_an_outage_for_an_hour(tmp_path: Path, server: AuthorizationServer) -> None:
    """While the issuer is down its last keys are used, for an hour at most."""

    async def work(client: Client, clock: Clock) -> None:
        token = mint(server)
        assert await status(client, token) == 200
        server.is_down = True
        for clock.seconds, expected in ((FRESH_S, 200), (LONGEST_S - 1, 200), (LONGEST_S, 503)):
            assert await status(client, token) == expected
            await settled(client)
        server.is_down = False
        clock.seconds = LONGEST_S + PAUSE_S
        assert await status(client, token) == 200

    run(tmp_path, server.issuer, work)


def test_issuer_that_does_not_answer_holds_up_no_other_caller(tmp_path: Path, server: AuthorizationServer) -> None:
    """While many tokens wait for keys, other callers are served; and a bounded number of tokens waits."""

    async def work(client: Client, clock: Clock) -> None:
        gate = asyncio.Event()
        get = authority(client).issuer._fetcher.get

        async def slow(url: str) -> Any:
            await gate.wait()
            return await get(url)

        authority(client).issuer._fetcher.get = slow  # type: ignore[method-assign]
        waiting = [asyncio.create_task(status(client, mint(server))) for _ in range(150)]
        assert await status(client, client.token) == 200
        done, pending = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        while len(done) < 50:
            more, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            done |= more
        assert {task.result() for task in done} == {503}
        gate.set()
        assert [task.result() for task in (await asyncio.wait(pending))[0]] == [200] * 100
        assert server.fetches == 1

    run(tmp_path, server.issuer, work)


def test_token_whose_client_leaves_ends_no_fetch(tmp_path: Path, server: AuthorizationServer) -> None:
    """The fetch goes on for others when the request that began it is cancelled."""

    async def work(client: Client, clock: Clock) -> None:
        first = client.begin("POST", "/mcp", LIST, token=mint(server))
        await asyncio.sleep(0)
        second = asyncio.create_task(status(client, mint(server)))
        await asyncio.sleep(0)
        assert first.task is not None
        first.task.cancel()
        client._open.remove(first)
        assert await second == 200

    run(tmp_path, server.issuer, work)


def test_keys_at_a_named_url_need_no_metadata(tmp_path: Path, server: AuthorizationServer) -> None:
    """With --oauth-jwks the metadata of the issuer is not fetched."""

    async def work(client: Client, clock: Clock) -> None:
        assert await status(client, mint(server)) == 200
        assert server.paths == []

    run(tmp_path, server.issuer, work, oauth={"jwks": f"{server.issuer}/jwks"})


def answering(path: str, make: Any) -> Any:
    """Return a factory of applications that answer with `make(url)` at a path."""

    def application(url: str) -> Starlette:
        async def answer(request: Request) -> Response:
            found: Response = make(url)
            return found

        return Starlette(routes=[Route(path, answer)])

    return application


async def large() -> AsyncIterator[bytes]:
    for _ in range(6):
        yield b" " * 65536


OAUTH = "/.well-known/oauth-authorization-server"
OPENID = "/.well-known/openid-configuration"
NO_URL = "has no jwks_uri of https"
LOST: dict[str, tuple[str, Any, str]] = {
    "nothing": ("/x", lambda url: Response(), "it has no metadata document"),
    "a redirect": (OAUTH, lambda url: RedirectResponse("https://evil.example/"), "it has no metadata document"),
    "another issuer": (OAUTH, lambda url: JSONResponse({"issuer": f"{url}/x"}), "describes another issuer"),
    "no keys": (OAUTH, lambda url: JSONResponse({"issuer": url}), NO_URL),
    "keys over http": (OPENID, lambda url: JSONResponse({"issuer": url, "jwks_uri": "http://a.example/k"}), NO_URL),
    "keys in a file": (OAUTH, lambda url: JSONResponse({"issuer": url, "jwks_uri": "file:///etc/passwd"}), NO_URL),
    "no JSON": (OAUTH, lambda url: Response("<html>"), "answers with no JSON"),
    "a list": (OAUTH, lambda url: JSONResponse([]), "answers with no JSON object"),
    "NaN": (OAUTH, lambda url: Response('{"issuer": NaN}'), "answers with no JSON"),
    "an error": (OAUTH, lambda url: Response(status_code=500), "answers with 500"),
    "too much": (OAUTH, lambda url: StreamingResponse(large()), "answers with more than 256 KiB"),
    "compressed": (
        OAUTH,
        lambda url: Response(b"x", headers={"content-encoding": "gzip"}),
        "answers with a compressed document",
    ),
}


@pytest.mark.parametrize("what", LOST)
def test_wrong_description_of_the_issuer_lets_no_token_in(
    tmp_path: Path, authorization: AuthorizationServer, capfd: pytest.CaptureFixture[str], what: str
) -> None:
    """Each of these answers leads to 503, and one log line says what is wrong."""
    path, make, why = LOST[what]
    running = Running(answering(path, make))

    async def work(client: Client, clock: Clock) -> None:
        assert await status(client, mint(authorization, iss=running.url)) == 503

    with running:
        run(tmp_path, running.url, work)
    err = capfd.readouterr().err
    assert f"the keys of {running.url} cannot be fetched: " in err
    assert why in err
    assert "Traceback" not in err


def test_metadata_of_openid_is_used(tmp_path: Path, server: AuthorizationServer) -> None:
    """An issuer with a path, described for OpenID Connect only, is found."""

    def describe(url: str) -> Response:
        return JSONResponse({"issuer": f"{url}/realms/a", "jwks_uri": f"{server.issuer}/jwks"})

    running = Running(answering(f"/realms/a{OPENID}", describe))

    async def work(client: Client, clock: Clock) -> None:
        assert await status(client, mint(server, iss=f"{running.url}/realms/a")) == 200

    with running:
        run(tmp_path, f"{running.url}/realms/a", work)


def test_issuer_that_never_answers_is_given_up(
    tmp_path: Path,
    authorization: AuthorizationServer,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The fetch ends after its time, also if bytes arrive slowly."""
    monkeypatch.setattr(fetch, "WAIT_S", 0.2)

    async def slowly() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b" "
            await asyncio.sleep(0.05)

    running = Running(answering(OAUTH, lambda url: StreamingResponse(slowly())))

    async def work(client: Client, clock: Clock) -> None:
        assert await status(client, mint(authorization, iss=running.url)) == 503

    with running:
        run(tmp_path, running.url, work)
    assert "did not answer within" in capfd.readouterr().err


UNTRUSTED = {"expired": (-1, True, "certificate has expired"), "foreign": (10, False, "self-signed certificate")}


@pytest.mark.parametrize("what", UNTRUSTED)
def test_certificate_of_the_issuer_has_to_be_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], what: str
) -> None:
    """An expired certificate and one of an unknown authority let no token in, and the log says so."""
    days, is_trusted, why = UNTRUSTED[what]
    files = certificate(tmp_path, "issuer", days)
    monkeypatch.setenv("SSL_CERT_FILE", files[0] if is_trusted else certificate(tmp_path, "other", 10)[0])
    running = Running(lambda url: AuthorizationServer(url, [ec("first")]), files)

    async def work(client: Client, clock: Clock) -> None:
        assert await status(client, mint(running.server)) == 503

    with running:
        run(tmp_path, running.url, work)
    err = capfd.readouterr().err
    assert f"the certificate of {running.url}{OAUTH} is not trusted: {why}" in err


def test_certificate_of_an_own_authority_can_be_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SSL_CERT_FILE names the authority of an issuer within a company."""
    files = certificate(tmp_path, "issuer", 10)
    monkeypatch.setenv("SSL_CERT_FILE", files[0])
    running = Running(lambda url: AuthorizationServer(url, [ec("first")]), files)

    async def work(client: Client, clock: Clock) -> None:
        assert await status(client, mint(running.server)) == 200

    with running:
        run(tmp_path, running.url, work)


def test_wrong_clock_is_named(tmp_path: Path, server: AuthorizationServer, capfd: pytest.CaptureFixture[str]) -> None:
    """When the clocks of the issuer and of this machine differ, the log says by how much, before a token fails."""

    async def work(client: Client, clock: Clock) -> None:
        get = authority(client).issuer._fetcher.get

        async def ahead(url: str) -> Any:
            return (await get(url))._replace(ahead_s=300.0)

        authority(client).issuer._fetcher.get = ahead  # type: ignore[method-assign]
        assert await status(client, mint(server)) == 200
        assert await status(client, mint(server, exp=1)) == 401

    run(tmp_path, server.issuer, work)
    err = capfd.readouterr().err
    assert f"the clock of this machine is 300 s behind that of {server.issuer}: set it right" in err
    assert "It has expired. This machine's clock says 2027-01-15T08:00:00Z" in err
