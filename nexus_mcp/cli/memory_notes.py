"""`nexus-mcp memory list|show|add|import`: look at the notes in .nexus/memory/, and make new ones."""

from __future__ import annotations

from nexus_mcp.cli import exits
from nexus_mcp.cli.exits import defer_interrupt
from nexus_mcp.cli.options import Argument, Command, Option, count_noun
from nexus_mcp.cli.workspace_options import JSON, PROJECT, print_json, read_message, workspace_from
from nexus_mcp.errors import NexusError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from nexus_mcp.cli.options import Values
    from nexus_mcp.knowledge.drafts import Draft

FOLDER_KIND = "memory"
KINDS = ("user", "feedback", "empirical", "external", "pattern")
KIND = Option("--kind", "KIND", "user, feedback, empirical, external or pattern", KINDS)
NAME_OPTION = Option("--name", "NAME", "the name of the note (default: its first words)")
TAGS = Option("--tags", "A,B", "its tags (default: its first words)")
DRY_RUN = Option("--dry-run", "", "show what would be made, and change nothing")
NAME = Argument("NAME", "a note, with or without .md")
DIR = Argument("DIR", "a folder with Markdown files")
TEXT = Argument("[TEXT]", "the text of the note; without it, stdin", least=0)
_SUFFIX = ".md"
_NAMED, _LONGEST = 5, 200


def _list(values: Values) -> int:
    """Print the notes of memory/, or those of one kind."""
    from nexus_mcp.knowledge.index import notes_of
    from nexus_mcp.quoting import inert
    from nexus_mcp.store.store import Store

    faults: list[str] = []
    with Store(workspace_from(values)).nexus() as nexus:
        rows = [] if nexus is None else notes_of(nexus, FOLDER_KIND, faults)
    found = [{**row, "prefix": _prefix(row["path"])} for row in rows]
    if KIND.name in values:
        found = [row for row in found if row["prefix"] == values[KIND.name]]
    if JSON.name in values:
        print_json({"notes": found, "faults": faults})
        return exits.OK
    for row in found:
        tags = f"  {', '.join(row['tags'])}" if row["tags"] else ""
        print(inert(f"{row['path'].partition('/')[2]}  {row['size']} bytes{tags}"))
    for fault in faults:
        print(inert(f"not listed: {fault}"))
    print(f"{count_noun(len(found), 'note')} in .nexus/{FOLDER_KIND}/.")
    return exits.OK


def _show(values: Values) -> int:
    """Print a note. Raise NexusError with the nearest names if it does not exist."""
    from nexus_mcp.knowledge import index, notes
    from nexus_mcp.log import printable
    from nexus_mcp.quoting import quoted_name
    from nexus_mcp.store.store import Store
    from nexus_mcp.wording import nearest

    name = values[NAME.name].removeprefix(f".nexus/{FOLDER_KIND}/").removeprefix(f"{FOLDER_KIND}/")
    name = name if name.endswith(_SUFFIX) else f"{name}{_SUFFIX}"
    with Store(workspace_from(values)).nexus() as nexus:
        known = (
            [] if nexus is None else [row["path"].partition("/")[2] for row in index.notes_of(nexus, FOLDER_KIND, [])]
        )
        text = notes.read(nexus, FOLDER_KIND, name) if name in known else None
    if text is None:
        near = [quoted_name(one) for one in nearest(name, known, 0.5)[:_NAMED]]
        advice = f"Did you mean {' or '.join(near)}?" if near else "nexus-mcp memory list shows all notes."
        raise NexusError(f"There is no note {quoted_name(name)} in .nexus/{FOLDER_KIND}/.", next_step=advice)
    if JSON.name in values:
        print_json({"path": f"{FOLDER_KIND}/{name}", "text": text})
        return exits.OK
    for line in text.splitlines():
        print(printable(line))
    return exits.OK


def _add(values: Values) -> int:
    """Make a note from a text. Raise UsageError, NexusError."""
    from nexus_mcp.knowledge import drafts

    text = values.get(TEXT.name)
    if text is None:
        text = read_message(values)
    draft = drafts.parse(text, "")
    if draft is None:
        raise UsageError("There is no text.", next_step="Write the text in quotation marks, or send it to stdin.")
    name = values.get(NAME_OPTION.name, "").removesuffix(_SUFFIX)
    if name and not drafts.slug(name):
        raise UsageError(f"{NAME_OPTION.name} needs a name with Latin letters or digits.")
    draft.kind = values.get(KIND.name, draft.kind)
    draft.name = drafts.slug(name).removeprefix(f"{draft.kind}-") if name else draft.name
    tags = [tag.strip() for tag in values.get(TAGS.name, "").split(",")]
    draft.tags = [tag for tag in tags if tag] or draft.tags
    _check(draft)
    done, _ = _make([draft], values)
    (step,) = done
    if JSON.name in values:
        print_json(step)
        return exits.OK
    _print_step(step)
    return exits.OK


def _check(draft: Draft) -> None:
    """Raise NexusError for a text or tags that no note can hold."""
    from nexus_mcp.knowledge.index import tag_line
    from nexus_mcp.tags.actions.definition import storable_text

    storable_text(draft.text, "m")
    if draft.tags and "-->" in " ".join(draft.tags):
        raise UsageError("A tag must not have -->.")
    storable_text(tag_line(draft.tags or ["x"]), "m")


def _import(values: Values) -> int:
    """Make a note from each Markdown file below a folder. Raise UsageError, NexusError."""
    import os

    from nexus_mcp.knowledge import drafts
    from nexus_mcp.quoting import inert

    path = values[DIR.name]
    if not os.path.isdir(path):
        raise UsageError(f"{path} is no folder.", next_step="Name the folder that has the Markdown files.")
    found, skipped = drafts.read_folder(path)
    done, dry = _make(found, values)
    if JSON.name in values:
        print_json({"notes": done, "left_out": [{"source": name, "reason": why} for name, why in skipped]})
        return exits.OK
    for step in done:
        _print_step(step)
    for name, why in skipped:
        print(inert(f"left out: {name} {why}"))
    count = sum(step["result"] != "unchanged" for step in done)
    word = "would be made" if dry else "made"
    print(f"{count_noun(count, 'note')} {word}, {len(done) - count} already there, {len(skipped)} left out.")
    return exits.OK


def _make(found: list[Draft], values: Values) -> tuple[list[dict[str, Any]], bool]:
    """Make notes from the drafts, except in a dry run. Return (the results, whether this is a dry run)."""
    from nexus_mcp.cli.workspace_options import load_catalog
    from nexus_mcp.knowledge import additions
    from nexus_mcp.store.store import Store

    workspace = workspace_from(values)
    policy = load_catalog(workspace.root).vocabulary["memory_policy"]
    store, dry = Store(workspace), DRY_RUN.name in values
    with defer_interrupt(store.stop):
        return (additions.add(store, found, policy, dry_run=dry) if found else []), dry


def _print_step(step: dict[str, Any]) -> None:
    from nexus_mcp.quoting import inert, quoted_name

    words = {"created": "created", "creates": "would create", "unchanged": "there already:"}
    source = f"  from {step['source']}" if step["source"] else ""
    print(inert(f"{words[step['result']]} .nexus/{step['path']}{source}"))
    if step["similar"]:
        listed = ", ".join(quoted_name(path) for path in step["similar"])
        print(inert(f"  > Similar notes: {listed}. If they say the same, keep one of them."))


def _prefix(path: str) -> str:
    """Return the kind of a note by its name; "" for none."""
    word = path.partition("/")[2].partition("-")[0]
    return word if word in KINDS else ""


LIST = Command(
    "list",
    "list the notes with size and tags",
    "Lists the notes in .nexus/memory/, by name. The prefix of a name is the kind of\nthe note.",
    (KIND, JSON, PROJECT),
    _list,
    examples=(("nexus-mcp memory list --kind feedback", "list the notes of one kind"),),
)
SHOW = Command(
    "show",
    "print a note",
    "Prints a note of .nexus/memory/.",
    (JSON, PROJECT),
    _show,
    argument=NAME,
    examples=(("nexus-mcp memory show user-role", "print the note user-role.md"),),
)
ADD = Command(
    "add",
    "make a note from a text",
    "Makes a note in .nexus/memory/. If an existing note begins with the same 200\n"
    "characters, nothing is written. No existing note is changed: nexus-mcp act '[m]\n"
    "name.md: text' adds to a note.",
    (KIND, NAME_OPTION, TAGS, DRY_RUN, JSON, PROJECT),
    _add,
    argument=TEXT,
    examples=(("nexus-mcp memory add 'The tests need Redis.' --tags tests,redis", "make a note with two tags"),),
)
IMPORT = Command(
    "import",
    "make notes from a folder of Markdown files",
    "Makes a note from each Markdown file below DIR, such as the memory folders of\n"
    "Claude Code and Codex. The type in a front matter becomes the prefix of the\n"
    "name. A file that begins like an existing note is skipped; the files of DIR\n"
    "stay unchanged.",
    (DRY_RUN, JSON, PROJECT),
    _import,
    argument=DIR,
    examples=(("nexus-mcp memory import ~/notes --dry-run", "show which notes would be made"),),
)
