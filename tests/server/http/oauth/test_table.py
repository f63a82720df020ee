"""Right and wrong access tokens: each wrong one has its status and its challenge."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from jwt import get_algorithm_by_name

from nexus_mcp.server.http.oauth.issuer import PAUSE_S
from tests.server.http.oauth.authorization import ec, rsa
from tests.server.http.oauth.minting import BASE, GONE, NOW, RESOURCE, SCOPES, claims, mint, part, sign
from tests.server.http.oauth.support import run
from tests.wire.connection import modern

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.server.http.oauth.authorization import AuthorizationServer
    from tests.server.http.oauth.support import Clock
    from tests.server.http.serving import Client

    Make = Callable[[AuthorizationServer], str]

METADATA = f'resource_metadata="{BASE}/.well-known/oauth-protected-resource/mcp"'
SCOPE = f'scope="{SCOPES}"'
TWO_ALGORITHMS = b'{"typ": "at+jwt", "alg": "none", "alg": "ES256", "kid": "ec-1"}'
STRANGE = ec("ec-1")
"""A key that the authorization server does not have, with the id of one that it has."""


def unsigned(server: AuthorizationServer, algorithm: str) -> str:
    return f"{part({'typ': 'at+jwt', 'alg': algorithm, 'kid': 'rsa-1'})}.{part(claims(server.issuer))}."


def with_public_key_as_secret(server: AuthorizationServer) -> str:
    """Sign with the public key as the secret of HS256."""
    text = f"{part({'typ': 'at+jwt', 'alg': 'HS256', 'kid': 'rsa-1'})}.{part(claims(server.issuer))}"
    secret = server.keys[0].as_pem(private=False)
    made = get_algorithm_by_name("HS256")
    return f"{text}.{part(made.sign(text.encode(), secret))}"


def by_strange_key(server: AuthorizationServer, **header: Any) -> str:
    head = {"typ": "at+jwt", "alg": "ES256", "kid": "ec-1", **header}
    return sign(head, claims(server.issuer), STRANGE.private_key, "ES256")


def with_claims_as(server: AuthorizationServer, data: bytes) -> str:
    return sign({"typ": "at+jwt", "alg": "ES256", "kid": "ec-1"}, data, server.keys[-1].private_key, "ES256")


def tampered(server: AuthorizationServer) -> str:
    head, _, signature = mint(server).split(".")
    return f"{head}.{part(claims(server.issuer, sub='admin'))}.{signature}"


HOLDS: dict[str, Make] = {
    "as it is": mint,
    "by RSA": lambda s: sign({"typ": "at+jwt", "alg": "RS256", "kid": "rsa-1"}, claims(s.issuer),
                             s.keys[0].private_key, "RS256"),
    "with the whole media type": lambda s: mint(s, header={"typ": "application/AT+JWT"}),
    "with a list of audiences": lambda s: mint(s, aud=["https://other.example", RESOURCE]),
    "for the whole server": lambda s: mint(s, aud=BASE),
    "for the whole server, with a slash": lambda s: mint(s, aud=f"{BASE}/"),
    "with a clock that is 59 s off, expired": lambda s: mint(s, exp=NOW - 59),
    "with a clock that is 59 s off, not valid yet": lambda s: mint(s, nbf=NOW + 59, iat=NOW + 59),
    "with scopes of others": lambda s: mint(s, scope=f"openid {SCOPES} mail"),
    "with scopes in scp": lambda s: mint(s, scope=GONE, scp=SCOPES.split()),
    "with azp": lambda s: mint(s, client_id=GONE, azp="editor"),
    "without a key id, but with one key for the algorithm": lambda s: mint(s, header={"kid": GONE}),
    "with a key that the token names, which is not used": lambda s: mint(
        s, header={"jku": "http://evil.example/jwks", "x5u": "http://evil.example/x", "x5c": ["AA=="],
                   "jwk": STRANGE.as_dict(private=False)}),
}  # fmt: skip
"""Tokens that hold."""

MALFORMED = "Its header is malformed."
SIGNATURE = "Its signature is not right."
WRONG: dict[str, tuple[Make, str]] = {
    "alg none": (lambda s: unsigned(s, "none"), "It is no signed JWT."),
    "alg none with a signature": (lambda s: unsigned(s, "none") + "AA", "Its algorithm is not accepted."),
    "alg None": (lambda s: unsigned(s, "NoNe") + "AA", "Its algorithm is not accepted."),
    "alg HS256 with the public key": (with_public_key_as_secret, "Its algorithm is not accepted."),
    "alg is a list": (lambda s: mint(s, header={"alg": ["ES256"]}), "Its algorithm is not accepted."),
    "alg of another kind of key": (lambda s: mint(s, header={"alg": "RS256"}), SIGNATURE),
    "alg of another curve": (lambda s: mint(s, header={"alg": "ES384"}), SIGNATURE),
    "PS256 for a key of RS256": (
        lambda s: sign({"typ": "at+jwt", "alg": "PS256", "kid": "rsa-1"}, claims(s.issuer), s.keys[0].private_key,
                       "PS256"), SIGNATURE),
    "no alg": (lambda s: mint(s, header={"alg": GONE}), "Its algorithm is not accepted."),
    "another signature": (lambda s: mint(s).rpartition(".")[0] + "." + part(b"0" * 64), SIGNATURE),
    "other claims": (tampered, SIGNATURE),
    "an unknown key": (by_strange_key, SIGNATURE),
    "the key id of another key": (lambda s: mint(s, header={"kid": "rsa-1"}), SIGNATURE),
    "an unknown key id": (lambda s: mint(s, header={"kid": "../../etc/passwd"}), SIGNATURE),
    "a key id that is a number": (lambda s: mint(s, header={"kid": 1}), MALFORMED),
    "its own key in jwk": (lambda s: by_strange_key(s, jwk=STRANGE.as_dict(private=False)), SIGNATURE),
    "its own key at jku": (lambda s: by_strange_key(s, jku=f"{s.issuer}/jwks", kid="strange"), SIGNATURE),
    "crit": (lambda s: mint(s, header={"crit": ["exp"]}), MALFORMED),
    "crit b64": (lambda s: mint(s, header={"crit": ["b64"], "b64": True}), MALFORMED),
    "b64": (lambda s: mint(s, header={"b64": False}), MALFORMED),
    "a header with a field twice": (
        lambda s: f"{part(TWO_ALGORITHMS)}.{mint(s).partition('.')[2]}",
        "It is malformed."),
    "a header that is a list": (lambda s: f"{part([1])}.{mint(s).partition('.')[2]}", "It is malformed."),
    "type JWT": (lambda s: mint(s, header={"typ": "JWT"}), "It is no access token (at+jwt)."),
    "no type": (lambda s: mint(s, header={"typ": GONE}), "It is no access token (at+jwt)."),
    "a logout token": (lambda s: mint(s, header={"typ": "logout+jwt"}), "It is no access token (at+jwt)."),
    "another issuer": (lambda s: mint(s, iss="https://evil.example"), "It is of another issuer."),
    "the issuer with a slash": (lambda s: mint(s, iss=f"{s.issuer}/"), "It is of another issuer."),
    "no issuer": (lambda s: mint(s, iss=GONE), "It is of another issuer."),
    "another audience": (lambda s: mint(s, aud="https://other.example/mcp"), "It is for another audience."),
    "a longer audience": (lambda s: mint(s, aud=f"{RESOURCE}/"), "It is for another audience."),
    "an audience that contains ours": (lambda s: mint(s, aud=f"{RESOURCE} {BASE}"), "It is for another audience."),
    "other audiences": (lambda s: mint(s, aud=["a", "b"]), "It is for another audience."),
    "no audience": (lambda s: mint(s, aud=GONE), "Its claim aud is no list of texts."),
    "an empty audience": (lambda s: mint(s, aud=[]), "It is for another audience."),
    "a malformed audience": (lambda s: mint(s, aud=[RESOURCE, 1]), "Its claim aud is no list of texts."),
    "expired": (lambda s: mint(s, exp=NOW - 3600), "It has expired."),
    "a clock that is 61 s off, expired": (lambda s: mint(s, exp=NOW - 61), "It has expired."),
    "a clock that is 60 s off, expired": (lambda s: mint(s, exp=NOW - 60), "It has expired."),
    "a clock that is 61 s off, not valid yet": (lambda s: mint(s, nbf=NOW + 61), "It is not valid yet."),
    "nbf in the future": (lambda s: mint(s, nbf=NOW + 3600, exp=NOW + 7200), "It is not valid yet."),
    "issued in the future": (lambda s: mint(s, iat=NOW + 61), "It is not valid yet."),
    "no exp": (lambda s: mint(s, exp=GONE), "It has no time exp."),
    "exp is a text": (lambda s: mint(s, exp=str(NOW + 300)), "It has no time exp."),
    "exp is true": (lambda s: mint(s, exp=True), "It has no time exp."),
    "exp is huge": (lambda s: mint(s, exp=10**400), "It has no time exp."),
    "exp is null": (lambda s: mint(s, exp=None), "It has no time exp."),
    "nbf is null": (lambda s: mint(s, nbf=None), "It has no time nbf."),
    "exp is infinite": (lambda s: with_claims_as(s, b'{"exp": 1e999}'), "It is malformed."),
    "exp is NaN": (lambda s: with_claims_as(s, b'{"exp": NaN}'), "It is malformed."),
    "no subject": (lambda s: mint(s, sub=GONE), "It names no subject and client."),
    "an empty subject": (lambda s: mint(s, sub=""), "It names no subject and client."),
    "a subject that is a number": (lambda s: mint(s, sub=1), "It names no subject and client."),
    "a client that is a list": (lambda s: mint(s, client_id=["editor"]), "It names no subject and client."),
    "a long subject": (lambda s: mint(s, sub="a" * 1001), "Its subject or client is too long."),
    "malformed scopes": (lambda s: mint(s, scope={"nexus:read": True}), "Its claim scope is no list of texts."),
    "malformed projects": (lambda s: mint(s, nexus_projects={"a": 1}), "Its claim nexus_projects is no list of texts."),
    "a JWT in a JWT": (lambda s: with_claims_as(s, mint(s).encode()), "It is malformed."),
    "claims that are a list": (lambda s: with_claims_as(s, b"[]"), "It is malformed."),
    "claims that are nested deeply": (lambda s: with_claims_as(s, b'{"a":' * 900 + b"1" + b"}" * 900),
                                      "It is malformed."),
    "claims with a field twice": (lambda s: with_claims_as(s, b'{"aud": "a", "aud": "b"}'), "It is malformed."),
    "five parts, encrypted": (lambda s: f"{mint(s)}.AA.AA", "It is no signed JWT."),
    "padding": (lambda s: f"{mint(s)}=", "It is no signed JWT."),
}  # fmt: skip
"""Invalid tokens, each with the text of its refusal."""

OTHER: dict[str, Make] = {
    "huge": lambda s: mint(s, filler="x" * 20_000),
    "not ASCII": lambda s: mint(s) + "\xe9",
    "two parts": lambda s: mint(s).rpartition(".")[0].replace(".", ""),
    "a comma": lambda s: f"{mint(s)},{mint(s)}",
}
"""Texts that do not look like an access token."""


def check(tmp_path: Path, server: AuthorizationServer, make: Make, expected: Callable[[Any], None]) -> None:
    async def work(client: Client, clock: Clock) -> None:
        expected(await client.modern(modern(1, "tools/list"), token=make(server)))

    run(tmp_path, server.issuer, work)


@pytest.mark.parametrize("what", HOLDS)
def test_right_token_is_accepted(tmp_path: Path, authorization: AuthorizationServer, what: str) -> None:
    """Each of these tokens may list the tools."""

    def expected(reply: Any) -> None:
        assert reply.status == 200, reply.text

    check(tmp_path, authorization, HOLDS[what], expected)


@pytest.mark.parametrize("what", WRONG)
def test_wrong_token_is_refused(tmp_path: Path, authorization: AuthorizationServer, what: str) -> None:
    """Each of these tokens gets 401, and the challenge has the reason and the URL of the metadata."""
    make, why = WRONG[what]

    def expected(reply: Any) -> None:
        assert (reply.status, reply.text) == (401, f"This token is not valid. {why}\n")
        challenge = f'Bearer error="invalid_token", error_description="{why}", {METADATA}, {SCOPE}'
        assert reply.headers["www-authenticate"] == challenge

    check(tmp_path, authorization, make, expected)


@pytest.mark.parametrize("what", OTHER)
def test_text_without_the_form_of_a_token_is_refused(
    tmp_path: Path, authorization: AuthorizationServer, what: str
) -> None:
    """A text without the form of an access token gets 401 like any other text, without a fetch of keys."""

    def expected(reply: Any) -> None:
        assert reply.status == 401
        assert reply.headers["www-authenticate"].endswith(f"{METADATA}, {SCOPE}")

    check(tmp_path, authorization, OTHER[what], expected)


@pytest.mark.parametrize("scope", [GONE, "", "openid", "nexus:admin", "NEXUS:READ", "nexus:read,nexus:write", "read"])
def test_token_without_our_scopes_is_forbidden(tmp_path: Path, authorization: AuthorizationServer, scope: Any) -> None:
    """A valid token without any of our scopes gets 403 with the list of our scopes."""

    def expected(reply: Any) -> None:
        assert reply.status == 403
        assert reply.headers["www-authenticate"] == f'Bearer error="insufficient_scope", {SCOPE}, {METADATA}'

    check(tmp_path, authorization, lambda server: mint(server, scope=scope), expected)


def test_missing_scope_is_named(tmp_path: Path, authorization: AuthorizationServer) -> None:
    """A token that may read only gets 403 for a change, with the scope that the change needs."""

    async def work(client: Client, clock: Clock) -> None:
        client.token = mint(authorization, scope="nexus:read")
        assert (await client.modern(modern(1, "tools/list"))).status == 200
        for tool, right in (("task_add", "write"), ("task_close", "close")):
            reply = await client.modern(modern(1, "tools/call", name=tool, arguments={}))
            challenge = f'Bearer error="insufficient_scope", scope="nexus:{right}", {METADATA}'
            assert (reply.status, reply.headers["www-authenticate"]) == (403, challenge)

    run(tmp_path, authorization.issuer, work)


def test_plain_types_are_accepted_if_wanted(tmp_path: Path, authorization: AuthorizationServer) -> None:
    """With --oauth-plain-jwt the type may be JWT or missing; any other type is still refused."""

    async def work(client: Client, clock: Clock) -> None:
        found = {}
        for type_ in ("at+jwt", "JWT", GONE, "logout+jwt", "dpop+jwt", 1):
            token = mint(authorization, header={"typ": type_})
            found[type_] = (await client.modern(modern(1, "tools/list"), token=token)).status
        assert list(found.values()) == [200, 200, 200, 401, 401, 401]

    run(tmp_path, authorization.issuer, work, oauth={"accepts_plain": True})


def test_challenge_names_the_metadata(tmp_path: Path, authorization: AuthorizationServer) -> None:
    """The challenge has the URL of the path's metadata; for an unknown path, that of the server's metadata."""

    async def work(client: Client, clock: Clock) -> None:
        reply = await client.request("POST", "/mcp", authorization=None)
        assert (reply.status, reply.headers["www-authenticate"]) == (401, f"Bearer {METADATA}, {SCOPE}")
        for path, described in (("/p/shop/mcp", "/p/shop/mcp"), ('/p/a"b/mcp', ""), ("/x", ""), ("/mcp/", "")):
            reply = await client.request("POST", path, authorization=None)
            expected = f'"{BASE}/.well-known/oauth-protected-resource{described}"'
            assert reply.headers["www-authenticate"] == f"Bearer resource_metadata={expected}, {SCOPE}"

    run(tmp_path, authorization.issuer, work)


def test_unknown_key_ids_cause_few_fetches(tmp_path: Path, authorization: AuthorizationServer) -> None:
    """10 000 tokens with unknown key ids cause one fetch in each pause."""

    async def work(client: Client, clock: Clock) -> None:
        async def send(number: int) -> int:
            token = mint(authorization, header={"kid": f"none-{number}"})
            return (await client.modern(modern(1, "tools/list"), token=token)).status

        before = authorization.fetches
        for pause in range(2):
            for start in range(0, 5000, 50):
                found = await asyncio.gather(*(send(start + number) for number in range(50)))
                assert set(found) == {401}
            assert authorization.fetches == before + pause + 1
            clock.seconds += PAUSE_S
        assert (await client.modern(modern(1, "tools/list"), token=mint(authorization))).status == 200

    run(tmp_path, authorization.issuer, work)


def test_weak_private_and_foreign_keys_of_the_issuer_are_not_used(authorization: AuthorizationServer) -> None:
    """A key is used only if it is public, strong, meant for signatures, and of a kind that we know."""
    from nexus_mcp.server.http.oauth.keys import keys_of

    good = rsa("a").as_dict(private=False)
    rows = [
        good,
        {**good, "use": "enc"},
        {**good, "key_ops": ["encrypt"]},
        {**good, "alg": "RSA-OAEP"},
        {**good, "alg": "HS256"},
        {**good, "kid": 1},
        {**good, "n": "AQAB"},
        {**good, "n": None},
        {**good, "kty": "EC"},
        rsa("b").as_dict(private=True),
        {"kty": "oct", "k": "c2VjcmV0", "alg": "HS256"},
        {"kty": "EC", "crv": "secp256k1", "x": "AA", "y": "AA"},
        {"kty": "OKP", "crv": "X25519", "x": "AA"},
        "text",
    ]
    assert [(key.id, key.algorithms) for key in keys_of({"keys": rows})] == [("a", ("RS256",))]
    documents: list[dict[str, Any]] = [{}, {"keys": {}}, {"keys": [good] * 101}]
    for wrong in documents:
        with pytest.raises(ValueError, match="has"):
            keys_of(wrong)
