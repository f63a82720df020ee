"""Resources, prompts and completion: our loop answers as the SDK's server does, in every field."""

from __future__ import annotations

import json
import re

import pytest

from tests.differential.exchange import compare, numbered
from tests.wire.connection import LEGACY, Json, initialize, modern, request

TIME = re.compile(r'"lastModified": "[^"]*"')
LISTS = ("resources/list", "resources/templates/list", "prompts/list")
MADE: tuple[tuple[str, Json], ...] = (
    ("plan_start", {"topic": "Tö\u2028pic", "issues": ["A", "B"], "research_summary": ""}),
    ("task_add", {"title": "T", "context": "C"}),
    ("artifact_write", {"filename": "a/ö.md", "content": "x\u2028y"}),
)
URIS = (
    *("plan", "tasks", "tasks/ready", "history", "history?query=t%C3%B6&last_n=1", "history?last_n=x", "knowledge"),
    *("artifacts/a/%C3%B6.md", "artifacts/../x", "artifacts/none", "memory/none.md", "memory/%FF", "nothing"),
    *("agents/engineer", "agents/enginer", "skills/nx-plan", "cycle/x", "cycle/2026-01-02T03:04:05.250Z"),
    *("run", "run/x"),
)
PROMPTS: tuple[tuple[str, Json], ...] = (
    *((name, {}) for name in ("nx-init", "nx-plan", "nx-run", "nx-sync", "plan", "run", "sync", "d", "m", "rule", "x")),
    *(("d", {"text": "Yes", "issue": "1"}), ("m", {"name": "gc"}), ("rule", {"text": "x"}), ("plan", {"mode": "x"})),
    ("plan", {"mood": "x"}),
)
COMPLETIONS: tuple[tuple[Json, str, str], ...] = (
    ({"type": "ref/prompt", "name": "d"}, "issue", ""),
    ({"type": "ref/prompt", "name": "plan"}, "mode", "A"),
    ({"type": "ref/prompt", "name": "plan"}, "none", ""),
    ({"type": "ref/prompt", "name": "none"}, "mode", ""),
    ({"type": "ref/resource", "uri": "nexus://agents/{id}"}, "id", "e"),
    ({"type": "ref/resource", "uri": "nexus://cycle/{completed_at}"}, "completed_at", "2026"),
    ({"type": "ref/resource", "uri": "nexus://plan"}, "x", ""),
)


def messages(make: Json) -> list[Json]:
    """Return the same requests twice: for an empty project, and after some changes."""
    asked = [make(0, method, **params) for method in LISTS for params in ({}, {"cursor": ""}, {"cursor": "x"})]
    asked += [make(0, "resources/read", uri=f"nexus://{path}") for path in URIS]
    asked += [make(0, "prompts/get", name=name, arguments=arguments) for name, arguments in PROMPTS]
    asked += [
        make(0, "completion/complete", ref=ref, argument={"name": name, "value": value})
        for ref, name, value in COMPLETIONS
    ]
    made = [make(0, "tools/call", name=name, arguments=arguments) for name, arguments in MADE]
    closed = [make(0, "tools/call", name="task_close", arguments={})]
    return [*asked, *made, *asked, *closed, *asked]


def blotted(found: list[Json]) -> Json:
    return json.loads(TIME.sub('"lastModified": "TIME"', json.dumps(found)))


@pytest.mark.parametrize("version", [*LEGACY, "2026-07-28"])
@pytest.mark.parametrize("prefix", ["", "nx_"])
def test_lookups_answer_as_the_sdk_does(version: str, prefix: str) -> None:
    """The answers are equal before and after changes, in every revision, with and without a tool prefix."""
    if version == "2026-07-28":
        asked = numbered(messages(modern))
        first = []
    else:
        asked = numbered(messages(lambda id, method, **params: request(id, method, params)))
        first = [initialize("first", version)]
    for message in asked:
        if message["method"] == "tools/call":
            message["params"] = {**message["params"], "name": prefix + message["params"]["name"]}
    ours, theirs = compare([*first, *asked], prefix)
    assert blotted(ours) == blotted(theirs)
    assert len(ours) == len(first) + len(asked)
