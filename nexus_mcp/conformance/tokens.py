"""Replace the tokens of fixtures: {STATE_ROOT} and {HARNESS_ID} in paths, {PROJECT_ROOT} in params and assertions."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from nexus_mcp.conformance.fixture import Action, Asserts, Do, Event, Fixture, Kill, Parallel, Step, WriteFile

STATE_ROOT = ".nexus/state"
PROJECT_ROOT = "{PROJECT_ROOT}"
PATH_TOKENS = ("{STATE_ROOT}", "{HARNESS_ID}")
HARNESS_ID = re.compile(r"[a-z][a-z0-9-]*")
"""The form of a harness id; no other text may replace the token in a path."""

_TOKEN = re.compile(r"\{[^{}]*\}")


def expand_path(path: str, harness_id: str) -> str:
    """Return the path with its tokens replaced. Raise ValueError if the path has {HARNESS_ID} and `harness_id` is not a
    harness id.
    """
    if "{HARNESS_ID}" in path and not HARNESS_ID.fullmatch(harness_id):
        raise ValueError(f"{harness_id!r} is not a harness id: lowercase letters, digits and dashes, a letter first")
    return path.replace("{STATE_ROOT}", STATE_ROOT).replace("{HARNESS_ID}", harness_id)


def path_fault(path: str, *, git: bool = True) -> str:
    """Return the fault of a path in a fixture, "" if it has none. With `git` the path may be in `.git`."""
    if "{{" in path or "}}" in path:
        return f"has doubled braces; a token is written with single ones, such as {PATH_TOKENS[0]}"
    unknown = [token for token in _TOKEN.findall(path) if token not in PATH_TOKENS]
    if unknown:
        return f"has the token {unknown[0]}; a path may have {' and '.join(PATH_TOKENS)}"
    plain = path
    for token in PATH_TOKENS:
        plain = plain.replace(token, "")
    if "{" in plain or "}" in plain:
        return f"has a brace that belongs to no token; a path may have {' and '.join(PATH_TOKENS)}, and no other brace"
    parts = path.replace("{STATE_ROOT}", STATE_ROOT).split("/")
    if not path or path.startswith("/") or "\\" in path or "\0" in path or {"", ".", ".."} & set(parts):
        return (
            "must be a path from the project root that stays inside it: plain names with / between them, and no . or .."
        )
    if not git and parts[0] == ".git":
        return "must not be in .git, because a run creates that folder itself"
    return ""


def fill(value: Any, project_root: str) -> Any:
    """Return the JSON value with {PROJECT_ROOT} replaced in its strings; keys stay."""
    if isinstance(value, str):
        return value.replace(PROJECT_ROOT, project_root)
    if isinstance(value, dict):
        return {name: fill(member, project_root) for name, member in value.items()}
    if isinstance(value, list):
        return [fill(item, project_root) for item in value]
    return value


def fill_expected(expected: Any, project_root: str) -> Any:
    """Return an expected value with {PROJECT_ROOT} replaced; in a pattern the path is escaped."""
    if isinstance(expected, list):
        return [fill_expected(item, project_root) for item in expected]
    if isinstance(expected, dict) and isinstance(pattern := expected.get("pattern"), str):
        return {**expected, "pattern": pattern.replace(PROJECT_ROOT, re.escape(project_root))}
    return fill(expected, project_root)


def replace_tokens(asserts: Asserts, project_root: str, harness_id: str) -> Asserts:
    """Return the assertions with every token replaced. Raise ValueError like `expand_path`."""
    unchanged = asserts.unchanged
    return replace(
        asserts,
        return_value=asserts.return_value and _fill(asserts.return_value, project_root),
        result=asserts.result and _fill(asserts.result, project_root),
        state_files={
            expand_path(path, harness_id): wanted and _fill(wanted, project_root)
            for path, wanted in asserts.state_files.items()
        },
        error_contains=fill(asserts.error_contains, project_root),
        unchanged=tuple(expand_path(path, harness_id) for path in unchanged)
        if isinstance(unchanged, tuple)
        else unchanged,
    )


def fill_fixture(fixture: Fixture, project_root: str, harness_id: str) -> Fixture:
    """Return the fixture with every token replaced. Raise ValueError like `expand_path`."""

    def fill_step(step: Step) -> Step:
        return replace(step, do=fill_do(step.do), asserts=replace_tokens(step.asserts, project_root, harness_id))

    def fill_do(do: Do) -> Do:
        if isinstance(do, (Action, Event)):
            return replace(do, params=fill(do.params, project_root))
        if isinstance(do, WriteFile):
            return replace(do, path=expand_path(do.path, harness_id))
        if isinstance(do, Kill):
            return replace(do, action=replace(do.action, params=fill(do.action.params, project_root)))
        if isinstance(do, Parallel):
            return Parallel(tuple(tuple(map(fill_step, lane)) for lane in do.lanes))
        return do

    return replace(
        fixture,
        steps=tuple(map(fill_step, fixture.steps)),
        postcondition=replace_tokens(fixture.postcondition, project_root, harness_id),
        state_files={expand_path(path, harness_id): value for path, value in fixture.state_files.items()},
        files={expand_path(path, harness_id): special for path, special in fixture.files.items()},
    )


def _fill(assertions: dict[str, Any], project_root: str) -> dict[str, Any]:
    return {path: fill_expected(expected, project_root) for path, expected in assertions.items()}
