"""`nexus-mcp act MESSAGE`: carry out the inline actions of a message."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.options import Command
from nexus_mcp.cli.workspace_options import JSON, MESSAGE, PROJECT, print_json, read_message, workspace_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nexus_mcp.cli.options import Values


def run(values: Values) -> int:
    """Carry out the actions and print the result of each; return 1 if one failed. Raise UsageError, StorageError."""
    from nexus_mcp.cli.hints import mistyped_tags
    from nexus_mcp.cli.workspace_options import load_catalog
    from nexus_mcp.quoting import inert
    from nexus_mcp.store.store import Store
    from nexus_mcp.tags.act import act, lines
    from nexus_mcp.tags.actions.decide import FAILED
    from nexus_mcp.tags.parse import tag_name

    message = read_message(values)
    workspace = workspace_from(values)
    catalog = load_catalog(workspace.root)
    done = act(message, catalog, Store(workspace), workspace.harness_id)
    if JSON.name in values:
        print_json(done)
    else:
        if not done["steps"]:
            print("The message has no tag that is an action.")
        for step in done["steps"]:
            name = f"[{tag_name(step)}]"
            what, *more = lines(step)
            for line in (f"{name}  {what}", *more, *([f"  > {step['next_step']}"] if step["next_step"] else ())):
                print(inert(line))
        if done["left_out"]:
            print(f"{done['left_out']} more tags are ignored.")
        for line in mistyped_tags(message, catalog.vocabulary["tags"]):
            print(line)
    return exits.FAILED if any(step["result"] == FAILED for step in done["steps"]) else exits.OK


COMMAND = Command(
    "act",
    "carry out [m], [m:gc], [rule:...] and [d] of a message",
    "Carries out the tags of a message that change files: [m] stores a note, [m:gc]\n"
    "proposes a clean-up, [rule] adds a rule, [d] records a decision. If\n"
    "several questions are pending, [d:2] decides question 2, and [d] is left to the\n"
    "agent, which calls plan_decide.\n"
    "[plan], [run] and [sync] start skills, which this command does not do.\n"
    "Exit code 0: done; 1: an action failed, and its line says why.",
    (JSON, PROJECT),
    run,
    argument=MESSAGE,
    examples=(
        ("nexus-mcp act '[m] The tests need Redis.'", "store a note"),
        ("nexus-mcp act '[rule:tests] Run the tests before a commit.'", "add a rule"),
    ),
)
