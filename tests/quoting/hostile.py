"""A project in which every stored text is an attack."""

from __future__ import annotations

import contextlib
import json

from nexus_mcp.store.codec import encode
from tests.support import Project, cycle, issue, plan, stamp, task, tasks

HARNESS = "claude-code"
AGENT = "a1"
SKILL_BODY = "Work by the plan.\n"


def fill(project: Project, text: str) -> None:
    """Put `text` into every field of every file below .nexus that may hold any text."""
    for path, value in _state(text).items():
        project.put(path, encode(value))
    state = f"state/{HARNESS}"
    use = {"timestamp": text, "agent_id": text, "tool": text, "file": text, "status": text}
    edit = {**use, "timestamp": stamp(9), "tool": "Edit", "file": "src/a.py", "status": "ok"}
    project.put("state/tool-log.jsonl", b"".join(json.dumps(one).encode() + b"\n" for one in (use, edit)))
    read = {"path": text, "last_accessed_ts": stamp(0), "access_count": 1, "last_agent": text}
    project.put(f"{state}/memory-access.jsonl", json.dumps(read).encode() + b"\n")
    project.put("memory/attacked.md", f"<!-- tags: {text} -->\n\n{text}\n".encode("utf-8", "replace"))
    name = text.replace("/", "").replace("\0", "")[:60]
    for kind in ("memory", "context", "rules", "state/artifacts"):
        with contextlib.suppress(UnicodeEncodeError):
            project.put(f"{kind}/{name}.md", f"<!-- tags: {name} -->\n\nLocks are slow on shares.\n".encode())


def spoil_catalog(project: Project, text: str) -> None:
    """Put agents, skills, a map and settings there whose names, values and faults are attacks."""
    quoted = json.dumps(text)
    meta = f"id: own\nname: {quoted}\ndescription: {quoted}\nmanual_only: false\nharness_notes: []\n"
    project.put("skills/own/meta.yml", meta.encode())
    project.put("skills/own/body.md", SKILL_BODY.encode())
    project.put("agents/writer/meta.yml", f"id: writer\n{quoted}: 1\ncategory: {quoted}\n".encode())
    project.put("capability-map.yml", f"codex:\n  classes:\n    {quoted}: [a]\n{quoted}: {{}}\n".encode())
    project.put("config.yml", f"{quoted}: 1\n".encode())
    name = text.replace("/", "").replace("\0", "")[:60]
    with contextlib.suppress(UnicodeEncodeError, OSError):
        project.put(f"agents/{name}/meta.yml", f"id: {quoted}\n".encode())


def _state(text: str) -> dict[str, object]:
    decided = issue(
        2, text, "decided", decision=text, how_agents=[text], how_summary={text: text}, how_agent_ids={text: text}
    )
    fields = dict.fromkeys(("context", "approach", "acceptance", "risk", "owner", "owner_agent_id"), text)
    rows = [
        task(1, text, plan_issue=2, **fields),
        task(2, text, status="in_progress", **{**fields, "owner": "engineer", "owner_agent_id": AGENT}),
        task(3, text, deps=[1], **{**fields, "owner": "engineer", "owner_reuse_policy": "resume_if_same_artifact"}),
        task(4, text, plan_issue=2, **{**fields, "owner": "engineer", "context": f"Change src/a.py. {text}"}),
    ]
    entry = {
        "harness_id": HARNESS,
        "started_at": stamp(0),
        "agent_name": text,
        "agent_id": text,
        "resume_count": 0,
        "status": "running",
        "last_message": text,
        "files_touched": [text],
    }
    ours = {**entry, "agent_name": "engineer", "agent_id": AGENT, "status": "completed", "stopped_at": stamp(1)}
    remembered = {
        "session_id": "s1",
        "at": stamp(0),
        "skill": text,
        "mode": text,
        "work": text,
        "history": text,
        "given": {text: text},
    }
    own = plan(1, text, [issue(1, text), decided], research_summary=text)
    return {
        "state/plan.json": own,
        "state/tasks.json": tasks(*rows, goal=text, decisions=[text, f"x\n{text}"]),
        "history.json": {"cycles": [cycle(own, task(1, text, **fields), branch=text)]},
        f"state/{HARNESS}/agent-tracker.json": [entry, {**ours, "files_touched": ["src/a.py", text]}],
        f"state/{HARNESS}/remembered.extension.json": {"sessions": [remembered]},
    }
