"""Malformed requests: bytes that a generator with a seed makes, and known shapes of request smuggling."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

from tests.reliability.suites.http.server import HOST
from tests.reliability.suites.http.wire import modern

_MESSAGE, _HEADERS = modern(1, "tools/list", {})
_BODY = json.dumps(_MESSAGE).encode()
_MOST_STEPS = 4
_ODD = (b"\0", b"\r", b"\n", b"\r\n", b" ", b"\t", b":", b";", b",", b"\xff", b"\x80", b"%00", b"chunked", b"{", b"-1")
_TLS_HELLO = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
_STARTS = (_TLS_HELLO, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\r\n" * 50, b"GET /\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n")
_PARTS = ("/p/", "p0", "/mcp", "..", "%2e", "%00", "//", "?", "#", "*", "\xe9", "http://evil.example", "\\", "x" * 9000)


def request(token: str, *lines: str, body: bytes = _BODY, length: bool = True, path: str = "/p/p0/mcp") -> bytes:
    """Return a request that is right but for the given header lines and body."""
    head = [
        f"POST {path} HTTP/1.1",
        f"Host: {HOST}",
        f"Authorization: Bearer {token}",
        "Accept: application/json, text/event-stream",
        "Content-Type: application/json",
        *_HEADERS.rstrip().split("\r\n"),
        *([f"Content-Length: {len(body)}"] if length else []),
        *lines,
        "Connection: close",
    ]
    return "\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body


def smuggling(token: str) -> dict[str, bytes]:
    """Return requests whose end two programs could see in different places. A server must refuse each of them."""
    size, chunked = f"Content-Length: {len(_BODY)}", b"%x\r\n%s\r\n0\r\n\r\n" % (len(_BODY), _BODY)
    te = "Transfer-Encoding: chunked"

    def sized(value: str) -> bytes:
        return request(token, f"Content-Length: {value}", length=False)

    def coded(*lines: str, body: bytes = chunked) -> bytes:
        return request(token, *lines, body=body, length=False)

    return {
        "a length and chunks": request(token, te),
        "chunks and a length": coded(te, size),
        "two lengths": request(token, "Content-Length: 3"),
        "two lengths in one header": sized(f"{len(_BODY)}, 3"),
        "a length with a sign": sized(f"+{len(_BODY)}"),
        "a negative length": sized("-1"),
        "a hexadecimal length": sized("0x10"),
        "a length with an underscore": sized("1_0"),
        "a length of another script": sized("\xb2"),
        "a huge length": sized("9" * 400),
        "a space before the colon": request(token, f"Content-Length : {len(_BODY)}", length=False),
        "a space before the first header": request(token).replace(b"\r\nHost:", b"\r\n Host:"),
        "chunks of another coding": coded("Transfer-Encoding: xchunked"),
        "two codings": coded("Transfer-Encoding: chunked, identity"),
        "chunks twice": coded(te, te),
        "a vertical tab before chunks": coded("Transfer-Encoding: \x0bchunked"),
        "a null byte in a header": request(token, "X: a\0b"),
        "a bare carriage return": request(token, "X: a\rTransfer-Encoding: chunked"),
        "a chunk size that is no number": coded(te, body=b"zz\r\n"),
        "a negative chunk size": coded(te, body=b"-1\r\nx\r\n0\r\n\r\n"),
        "a huge chunk size": coded(te, body=b"f" * 40 + b"\r\nx"),
        "a chunk without its end": coded(te, body=b"2\r\n{}xx0\r\n\r\n"),
        "an empty header name": request(token, ": x"),
        "a header without a colon": request(token, "bad"),
        "two hosts": request(token, "Host: evil.example"),
        "two tokens": request(token, "Authorization: Bearer x"),
    }


def malformed(rng: random.Random, token: str) -> bytes:
    """Return a request with random faults, some of which may leave it a right one."""
    kind = rng.choice(("noise", "start", "smuggled", "path", "headers", "body", *["steps"] * 4))
    if kind == "noise":
        return rng.randbytes(rng.randint(1, 2000))
    if kind == "start":
        return rng.choice(_STARTS) + rng.randbytes(rng.randint(0, 50))
    if kind == "body":
        return request(token, body=_json(rng))
    if kind == "smuggled":
        data = rng.choice(list(smuggling(token).values()))
    elif kind == "path":
        data = request(token, path="".join(rng.choice(_PARTS) for _ in range(rng.randint(1, 6))))
    elif kind == "headers":
        data = request(token, *(f"X-{n}: {'x' * rng.randint(0, 300)}" for n in range(rng.randint(1, 400))))
    else:
        data = request(token)
    for _ in range(rng.randint(1, _MOST_STEPS)):
        data = rng.choice(_STEPS)(rng, data)
    return data


def _json(rng: random.Random) -> bytes:
    whole = json.dumps(_MESSAGE)
    method = rng.choice(("null", "1", "[]", '"\\ud800"', '"x' + "y" * 50_000 + '"'))
    return rng.choice(
        (
            whole[: rng.randrange(len(whole))],
            "[" * rng.randint(1, 5000),
            '{"a":' * rng.randint(1, 3000),
            whole.replace("1", "1" * rng.randint(1, 6000), 1),
            whole.replace('"tools/list"', method),
            whole.replace('"params"', '"params":{},"params"'),
            f"[{whole}]",
            whole.replace("{", rng.choice(("\0{", "\ufeff{", "NaN{")), 1),
        )
    ).encode()


def _flip(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def _insert(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + rng.choice(_ODD) + data[at:]


def _drop(rng: random.Random, data: bytes) -> bytes:
    at = rng.randrange(len(data))
    return data[:at] + data[at + rng.randint(1, 20) :] or b"x"


def _cut(rng: random.Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data))] or b"x"


def _lines(rng: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\r\n")
    at = rng.randrange(len(lines))
    changed = rng.choice(([], lines[at : at + 1] * 2, [b" " + lines[at]], [lines[at].swapcase()]))
    return b"\r\n".join([*lines[:at], *changed, *lines[at + 1 :]]) or b"x"


def _bare(rng: random.Random, data: bytes) -> bytes:
    return data.replace(b"\r\n", rng.choice((b"\n", b"\r", b"\n\r")), rng.randint(1, 12))


_STEPS: tuple[Callable[[random.Random, bytes], bytes], ...] = (_flip, _insert, _drop, _cut, _lines, _bare)
