"""`nexus-mcp route MESSAGE`: show what the bracket tags of a message would do."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Command
from nexus_mcp.cli.workspace_options import HARNESS_ID, JSON, MESSAGE, PROJECT, print_json, read_message, workspace_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.cli.options import Values

_LONGEST = 300  # characters of a quoted text


def run(values: Values) -> int:
    """Print what each tag would do. Raise UsageError, PathRefused, StorageError."""
    from nexus_mcp.cli.hints import mistyped_tags
    from nexus_mcp.cli.workspace_options import load_catalog
    from nexus_mcp.store.store import Store
    from nexus_mcp.tags.route import route

    message = read_message(values)
    workspace = workspace_from(values)
    catalog = load_catalog(workspace.root)
    found = route(message, catalog, Store(workspace), workspace.harness_id)
    if JSON.name in values:
        print_json(found)
    else:
        _print(found)
        for line in mistyped_tags(message, catalog.vocabulary["tags"]):
            print(line)
    return exits.OK


def _print(found: dict[str, Any]) -> None:
    from nexus_mcp.quoting import inert
    from nexus_mcp.tags.parse import tag_name

    if not found["tags"]:
        print("The message has no tag.")
    for tag in found["tags"]:
        name = f"[{tag_name(tag)}]"
        what, *more = _describe(tag)
        print(inert(f"{name}  {what}"))
        for line in [*more, *([f"> {tag['advice']}"] if tag["advice"] else [])]:
            print(inert(f"  {line}"))
    if found["left_out"]:
        print(f"{found['left_out']} more tags are ignored.")


def _describe(tag: dict[str, Any]) -> list[str]:
    from nexus_mcp.quoting import quote
    from nexus_mcp.tags.act import lines

    text = [f"with {quote(tag['text'], _LONGEST)}"] if tag["text"] else []
    if tag["outcome"] == "skill":
        mode = f", mode {tag['mode']}" if tag["mode"] else ""
        notes = " and the notes of the harness" if tag["harness_notes"] else ""
        return [f"starts the skill {tag['skill']}{mode}: {len(tag['body'])} characters{notes}", *text]
    if tag["outcome"] == "nothing":
        return ["does nothing now"]
    would = tag["would"]
    if "pending" in would:
        open_ones = [f"open: {issue['id']} {quote(issue['title'], _LONGEST)}" for issue in would["pending"]]
        if "result" in would:
            return [lines(would)[0], *text]
        return ["records a decision (plan_decide)", *text, *open_ones]
    return [f"{tag['action']}: {lines(would)[0]}", *text, *lines(would)[1:]]


COMMAND = Command(
    "route",
    "show what the bracket tags of a message would do",
    "Finds the tags of a message, such as [plan] or [m], and prints the effect that\n"
    "each would have in this project now, or the step to take first. Changes\n"
    "nothing.",
    (JSON, PROJECT, HARNESS_ID),
    run,
    argument=MESSAGE,
    examples=(
        (
            "nexus-mcp route '[plan] Links must survive a restart'",
            "show what [plan] starts, and the words that it gets",
        ),
    ),
)
