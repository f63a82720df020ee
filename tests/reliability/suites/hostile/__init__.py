"""Hostile files: none makes a hook or a call slow, and none allows a restricted agent a forbidden tool.

yaml_texts.py and texts.py generate the files, folders.py generates folders. project.py has the project around them, and
the facts that hold there. measured.py runs a hook or a server, and measures it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from tests.reliability.mutants import bounds
from tests.reliability.suite import Piece, Suite, Tally
from tests.reliability.suites.hostile import folders, late, texts, yaml_texts
from tests.reliability.suites.hostile.project import OWN, Ground

_EACH = 25  # hostile files per piece of the long form
_SHARES = {"yaml": 90, "json": 45, "markdown": 30, "patch": 25, "folders": 10}
_YAML_AT = (
    "agents/engineer/meta.yml",
    "agents/architect/meta.yml",
    "agents/gardener/meta.yml",
    "skills/prune/meta.yml",
    "capability-map.yml",
    "config.yml",
)
_JSON_AT = (
    "state/plan.json",
    "state/tasks.json",
    "state/tool-log.jsonl",
    "state/claude-code/agent-tracker.json",
    "state/claude-code/memory-access.jsonl",
    "state/claude-code/session.extension.json",
    "state/cache/catalog.json",
    "state/cache/catalog-rows.json",
    "history.json",
)
_MARKDOWN_AT = ("agents/gardener/body.md", "skills/prune/body.md", "memory/new.md", "rules/new.md", "context/new.md")
_ALIKE = 12  # agents with the same hostile file
_FAILURES = 5


def plan(seed: int, quick: bool) -> Sequence[Any]:
    """Return pieces: a kind of file with the number of files, or with one form of it."""
    if quick:
        shapes = ("many agents", "large together", "agents that cannot be listed", folders.LEGAL)
        named = [("yaml", "one key again and again"), *(("folders", shape) for shape in shapes), ("yaml", "base 60")]
        forms = [{"kind": kind, "form": form, "many": 1} for kind, form in named]
        rest = [{"kind": kind, "many": 2} for kind in ("yaml", "json", "markdown")]
        patch, payload = (
            {"kind": kind, "form": form, "many": 1} for kind, form in (("patch", "lines"), ("json", "lists"))
        )
        # Pieces that detect a fault quickly come first: with a planted fault the piece `late` may hang.
        return [*forms, patch, {"kind": "late", "many": 1}, payload, *rest]
    return [{"kind": kind, "many": _EACH} for kind, share in _SHARES.items() for _ in range(share)] + [
        {"kind": "late", "many": _EACH}
    ]


def work(piece: Piece) -> Tally:
    """Put hostile files into a project, one at a time, and check its hooks and calls."""
    tally = Tally()
    ground = Ground(piece.folder, tally)
    for number in range(piece.item["many"]):
        _KINDS[piece.item["kind"]](ground, piece.rng, piece.item.get("form", ""), number)
        tally.counts["hostile files"] += 1
        if len(tally.failures) >= _FAILURES:
            break
    return tally


def _yaml(ground: Ground, rng: random.Random, form: str, number: int) -> None:
    at = "config.yml" if form == "base 60" else "agents/gardener/meta.yml" if form else rng.choice(_YAML_AT)
    text = yaml_texts.FORMS[form](rng, yaml_texts.SIZES[number + 2]) if form else yaml_texts.text(rng)
    if form == "one key again and again":
        text = "capabilities: []\n"
    ground.lay(f"{at} with {len(text)} of {text[:80]!r}")
    ground.put(at, OWN + text if "gardener" in at else text)
    if rng.random() < 0.2:
        for other in range(_ALIKE):
            ground.put(f"agents/zz{other}/meta.yml", text)
            ground.put(f"agents/zz{other}/body.md", text[:250_000])
    _hold(ground, rng)


def _json(ground: Ground, rng: random.Random, form: str, _: int) -> None:
    at = "" if form or rng.random() < 0.3 else rng.choice(_JSON_AT)
    text = texts.JSON[form](rng, 15_000_000) if form else texts.json(rng)
    ground.lay(f"{at or 'a payload'} with {len(text)} of {text[:80]!r}")
    if at:
        ground.put(at, text)
        _hold(ground, rng)
        return
    head = b'{"tool":"Write","agent_name":"gardener","tool_input":'
    data = head + text.encode("utf-8", "surrogatepass") + b"}"
    answer = ground.hook("pre_tool_use", data)
    if answer is not None and answer["decision"] != "deny":
        ground.fail(f"gardener may use Write: {str(answer)[:300]}")
    ground.hook("post_tool_use", data)


def _markdown(ground: Ground, rng: random.Random, _: str, __: int) -> None:
    text = texts.markdown(rng)
    at = rng.choice((*_MARKDOWN_AT, ""))
    ground.lay(f"{at or 'a prompt'} with {len(text)} of {text[:80]!r}")
    if at:
        ground.put(at, text)
    else:
        ground.hook("user_message", {"prompt": text, "session_id": "s"})
    _hold(ground, rng)


def _patch(ground: Ground, rng: random.Random, form: str, _: int) -> None:
    text = texts.PATCHES[form](rng, 4_000_000) if form else texts.patch(rng)
    ground.lay(f"a patch with {len(text)} of {text[:80]!r}")
    for member in ("file_path", "input", "patchText"):
        ground.is_denied("gardener", {member: text})
    ground.is_denied("architect", text)
    for tool in ("Write", "apply_patch"):
        ground.hook("pre_tool_use", {"tool": tool, "tool_input": {"file_path": text, "input": text}})
        ground.hook("post_tool_use", {"tool": tool, "agent_id": "a", "tool_input": {"file_path": text, "input": text}})


def _folders(ground: Ground, rng: random.Random, form: str, _: int) -> None:
    name = form or rng.choice([*folders.SHAPES])
    ground.lay(name)
    folders.SHAPES[name](ground, rng)
    if name == folders.LEGAL:
        ground.is_quick()
    _hold(ground, rng)


def _hold(ground: Ground, rng: random.Random) -> None:
    """Check the rules that hold whatever files the project has."""
    event, params = rng.choice(_EVENTS)
    others: list[Callable[[], object]] = [
        lambda: ground.is_denied("architect"),
        lambda: ground.hook(event, {"session_id": "s", **params}),
        ground.serve,
    ]
    # The first reader fills the cache for the others.
    steps: list[Callable[[], object]] = [*rng.sample(others, 2), lambda: ground.is_denied("gardener")]
    rng.shuffle(steps)
    for step in steps:
        step()
    ground.is_denied("gardener")


_EVENTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("session_start", {"source": "startup"}),
    ("user_message", {"prompt": "[m:gc] [plan] Go on. [rule:x] Use flex."}),
    ("subagent_spawn", {"agent_name": "gardener", "agent_id": "a1"}),
    ("subagent_complete", {"agent_id": "a1"}),
    ("post_tool_use", {"tool": "Read", "file": ".nexus/memory/old.md"}),
    ("context_compact", {}),
    ("session_end", {}),
)
_KINDS: dict[str, Callable[[Ground, random.Random, str, int], None]] = {
    "yaml": _yaml,
    "json": _json,
    "markdown": _markdown,
    "patch": _patch,
    "folders": _folders,
    "late": late.play,
}

SUITE = Suite(
    name="hostile",
    title="hostile files in a project",
    goal=("hostile files", 5_000),
    plan=plan,
    work=work,
    mutants=tuple(mutant.name for mutant in bounds.MUTANTS),
    seconds=300.0,
)
