"""Servers whose tools work, and are listed wrongly."""

from __future__ import annotations

from typing import Any

from tests.miniatures.base import Miniature

Tool = dict[str, Any]


def _without_hints(tool: Tool) -> Tool:
    return {name: value for name, value in tool.items() if name not in ("annotations", "outputSchema")}


def _with_a_session(tool: Tool) -> Tool:
    schema = tool["inputSchema"]
    properties = {**schema.get("properties", {}), "session": {"type": "string"}}
    return {
        "name": tool["name"],
        "inputSchema": {**schema, "properties": properties},
        "annotations": tool["annotations"],
    }


def _untyped(tool: Tool) -> Tool:
    schema = tool["inputSchema"]
    properties = {name: {"description": name} for name in schema.get("properties", {})}
    return {
        "name": tool["name"],
        "inputSchema": {**schema, "properties": properties},
        "annotations": tool["annotations"],
    }


MINIATURES = (
    Miniature(
        "listed-without-hints", "No tool is listed with hints about its effects.", (), None, listed=_without_hints
    ),
    Miniature("listed-with-a-session", "Every tool is listed with a parameter more.", (), None, listed=_with_a_session),
    Miniature("listed-untyped", "The parameters are listed without their types.", (), None, listed=_untyped),
)
