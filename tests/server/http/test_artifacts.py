"""Artifacts over HTTP: a client without the files of the project lists and reads them as resources."""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING, Any

from tests.server.http.serving import Client, make_token, serving
from tests.wire.connection import modern

if TYPE_CHECKING:
    from pathlib import Path

Json = Any
TEXT = "# Findings\n\nÄrger & <b>\n"


async def call(client: Client, method: str, **params: Json) -> Json:
    reply = await client.modern(modern(1, method, **params))
    assert reply.status in (200, 400), reply.text
    return reply.message


def test_other_client_reads_what_one_has_written(tmp_path: Path) -> None:
    """A client with the right to read lists an artifact with its size and type, and reads its whole text."""

    async def served() -> None:
        async with serving(tmp_path) as client:
            written = {"filename": "review/findings.md", "content": TEXT}
            await call(client, "tools/call", name="artifact_write", arguments=written)
            client.token = make_token(tmp_path, "reader", "read")
            await client.app.refresh()
            listed = (await call(client, "resources/list"))["result"]["resources"]
            uri = "nexus://artifacts/review/findings.md"
            (entry,) = [one for one in listed if one["uri"] == uri]
            assert (entry["size"], entry["name"]) == (len(TEXT.encode()), "artifacts/review/findings.md")
            (content,) = (await call(client, "resources/read", uri=uri))["result"]["contents"]
            assert (content["text"], content["mimeType"]) == (TEXT, "text/markdown")

    asyncio.run(served())


def test_binary_artifact_comes_as_base64(tmp_path: Path) -> None:
    """A file of the project's machine that is no text arrives byte for byte."""
    data = bytes(range(256)) * 4096
    place = tmp_path / "project/.nexus/state/artifacts"
    place.mkdir(parents=True)
    (place / "shot.png").write_bytes(data)

    async def served() -> None:
        async with serving(tmp_path) as client:
            found = await call(client, "resources/read", uri="nexus://artifacts/shot.png")
            (content,) = found["result"]["contents"]
            assert base64.b64decode(content["blob"]) == data
            assert content["mimeType"] == "image/png"

    asyncio.run(served())


def test_artifact_beyond_the_limit_says_what_to_do(tmp_path: Path) -> None:
    """More than 4 MiB are not read, and the next step fits a client on another machine."""
    place = tmp_path / "project/.nexus/state/artifacts"
    place.mkdir(parents=True)
    (place / "large.log").write_bytes(b"x" * ((4 << 20) + 1))

    async def served() -> None:
        async with serving(tmp_path) as client:
            found = await call(client, "resources/read", uri="nexus://artifacts/large.log")
            assert "is larger than the 4 MiB that are read" in found["error"]["message"]
            assert "Have its author split it" in found["error"]["message"]

    asyncio.run(served())


def test_token_without_the_right_to_read_gets_no_artifact(tmp_path: Path) -> None:
    """A token that may only write lists and reads no resource."""

    async def served() -> None:
        async with serving(tmp_path) as client:
            client.token = make_token(tmp_path, "writer", "write")
            await client.app.refresh()
            for method, params in (("resources/list", {}), ("resources/read", {"uri": "nexus://artifacts/a.md"})):
                assert (await client.modern(modern(1, method, **params))).status == 403

    asyncio.run(served())
