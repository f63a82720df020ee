"""Send requests for resources and prompts to the app itself, without wire or thread."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from nexus_mcp.server.faults import Fault

if TYPE_CHECKING:
    from nexus_mcp.server.app import App

Json = Any


class Asker:
    """Sends requests as a client with the name `client`."""

    def __init__(self, app: App, client: str = "tester") -> None:
        self.app = app
        self.client = client

    def __call__(self, method: str, *, modern: bool = True, **params: Json) -> Json:
        return self.app.read(method, params, self.client, modern=modern).result

    def text(self, uri: str) -> str:
        """The text of a resource that has one content."""
        (content,) = self("resources/read", uri=uri)["contents"]
        assert content["uri"] == uri
        found: str = content["text"]
        return found

    def json(self, uri: str) -> Json:
        return json.loads(self.text(uri))

    def refused(self, method: str, *, modern: bool = True, **params: Json) -> tuple[int, str]:
        """(code, message) of the fault; one about a resource names its URI."""
        with pytest.raises(Fault) as raised:
            self(method, modern=modern, **params)
        error = raised.value.response()["error"]
        if method == "resources/read":
            assert error["data"] == {"uri": params["uri"]}
        return error["code"], error["message"]

    def pages(self, method: str, member: str) -> list[list[Json]]:
        """All pages of a list."""
        found, cursor = [], None
        while True:
            page = self(method, **({} if cursor is None else {"cursor": cursor}))
            found.append(page[member])
            cursor = page.get("nextCursor")
            if cursor is None:
                return found

    def prompt(self, name: str, /, **arguments: str) -> str:
        """The text of a prompt."""
        return self.prompt_with(name, arguments)

    def prompt_with(self, name: str, arguments: dict[str, str]) -> str:
        (message,) = self("prompts/get", name=name, arguments=arguments)["messages"]
        assert message["role"] == "user"
        text: str = message["content"]["text"]
        return text

    def complete(self, of: str, name: str, value: str = "") -> Json:
        ref = {"type": "ref/resource", "uri": of} if "://" in of else {"type": "ref/prompt", "name": of}
        return self("completion/complete", ref=ref, argument={"name": name, "value": value})["completion"]
