"""docs/resources.md lists the resources, prompts and bounds of the server."""

from __future__ import annotations

import re

from nexus_mcp.server.paging import SIZE
from nexus_mcp.server.resources import RESOURCES
from nexus_mcp.server.resources.definition import LIMIT
from nexus_mcp.server.subscriptions import streams
from tests.server.app_requests import Asker
from tests.wire.connection import ROOT

PAGE = (ROOT / "docs" / "resources.md").read_text(encoding="utf-8")


def rows(title: str) -> list[list[str]]:
    """The cells of the first table below a title, without its head."""
    lines = PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0].splitlines()
    table = [line for line in lines if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" |")] for line in table if not line.startswith("|---")]


def test_page_has_every_resource() -> None:
    """The page has the table of the resources: each URI with its description and MIME type."""
    count = len(RESOURCES)
    assert rows("Resources")[1 : count + 1] == [
        [f"`{one.template.text}`", one.description, f"`{one.mime_type}`" if one.mime_type else "its own"]
        for one in RESOURCES
    ]
    assert rows("Resources")[count + 1][0] == "file"


def test_page_has_every_prompt(ask: Asker) -> None:
    """The page has each prompt with its arguments."""
    told = {
        name: re.findall(r"`(\w+)`", arguments)
        for names, arguments, _ in rows("Prompts")[1:]
        for name in re.findall(r"`([\w-]+)`", names)
    }
    (page,) = ask.pages("prompts/list", "prompts")
    assert told == {prompt["name"]: [one["name"] for one in prompt["arguments"]] for prompt in page}


def test_page_has_the_bounds_of_the_code() -> None:
    """The limits on the page are those of the code."""
    text = " ".join(PAGE.split())
    assert f"Lists come in pages of {SIZE}." in text
    assert f"| note, artifact | {LIMIT >> 20} MiB | It is not read. |" in text
    assert f"may have {streams.MOST_STREAMS} open requests and {streams.MOST_URIS} subscribed resources" in text
