"""Replace the names of the suite's reference server by names of our server.

The suite calls tools, prompts and resources that only its own reference server has. If our server has one of the same
kind, its name replaces the suite's name in the request; responses are not changed. All other names stay, and our server
refuses them. `expected.json` has the reason for each.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Json = Any
TOOLS: dict[str, tuple[str, Json]] = {
    "test_simple_text": ("task_list", {}),
    "test_error_handling": ("task_update", {"id": 1, "status": "done"}),
    "test_trigger_prompt_change": ("task_list", {}),
}
"""The suite's tool -> ours, and the arguments that ours gets."""
RESOURCES = {
    "test://static-text": "nexus://tasks",
    "test://static-binary": "nexus://artifacts/pixel.png",
    "test://template/123/data": "nexus://memory/123.md",
    "test://watched-resource": "nexus://plan",
}
PROMPTS = {"test_simple_prompt": "sync", "test_prompt_with_arguments": "plan"}
ARGUMENTS = {"arg1": "mode", "arg2": "request"}
"""The arguments of test_prompt_with_arguments, and those of our `plan`."""
_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_PNG = "image/png"


def prepare(root: Path) -> None:
    """Put the files into a project that the resources of RESOURCES need."""
    files = {
        "memory/123.md": b"# Note 123\n",
        "state/artifacts/pixel.png": base64.b64decode(_PIXEL),
    }
    for name, data in files.items():
        path = root / ".nexus" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def add_skill(root: Path) -> None:
    """Add a skill to a project, so that its list of prompts changes."""
    folder = root / ".nexus" / "skills" / "added"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "body.md").write_text("# Added\n", encoding="utf-8")
    fields = {
        "id": "added",
        "name": "Added",
        "description": "Is added while a client listens.",
        "manual_only": True,
        "harness_notes": [],
        "triggers": [],
        "hint": "",
    }
    (folder / "meta.yml").write_text(json.dumps(fields), encoding="utf-8")


def renamed(body: bytes, act: dict[str, Callable[[], None]]) -> tuple[bytes, dict[str, str]]:
    """Return a request with our names, and by the suite's name ours, for the header that repeats it.

    The function under the suite's name of a tool in `act` is called first.
    """
    try:
        message = json.loads(body)
    except ValueError:
        return body, {}
    params = message.get("params") if isinstance(message, dict) else None
    if not isinstance(params, dict):
        return body, {}
    names = _rename(message.get("method"), params, act)
    return (json.dumps(message).encode(), names) if names else (body, {})


def _rename(method: str, params: Json, act: dict[str, Callable[[], None]]) -> dict[str, str]:
    """Put our names into the params. Return theirs with ours; {} if there is nothing to rename."""
    name, uri = params.get("name"), params.get("uri")
    if method == "tools/call" and name in TOOLS:
        if name in act:
            act[name]()
        params["name"], params["arguments"] = TOOLS[name]
        return {name: params["name"]}
    if method == "prompts/get" and name in PROMPTS:
        params["name"] = PROMPTS[name]
        if given := params.get("arguments"):
            params["arguments"] = {ARGUMENTS.get(key, key): value for key, value in given.items()}
        return {name: params["name"]}
    if method in ("resources/read", "resources/subscribe", "resources/unsubscribe") and uri in RESOURCES:
        params["uri"] = RESOURCES[uri]
        return {uri: params["uri"]}
    if method == "completion/complete" and (name := params.get("ref", {}).get("name")) in PROMPTS:
        params["ref"]["name"] = PROMPTS[name]
        params["argument"]["name"] = ARGUMENTS[params["argument"]["name"]]
        return {name: PROMPTS[name]}
    return {}
