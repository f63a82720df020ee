"""The prompts m and rule announce the effect of `nexus-mcp act`, and keep every word of the user."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import nexus_mcp
from nexus_mcp.catalog import placeholders
from nexus_mcp.catalog.load import load
from nexus_mcp.server.prompts.actions import MOST, bullet_list
from nexus_mcp.store.store import Store
from nexus_mcp.tags.act import act
from nexus_mcp.workspace import Workspace
from tests.server.app_requests import Asker
from tests.support import Project

SAFELY = "`nexus-mcp act` does it safely: give it this message"


def carried_out(project: Project, prompt: str) -> list[tuple[str, str]]:
    """Return the results of `act` for the message that a prompt names: (result, path) of each step."""
    message = prompt.partition(SAFELY)[2].partition(":\n\n```\n")[2].partition("\n```\n\nIf you cannot run it")[0]
    steps = act(message, load(None), Store(Workspace(str(project.root))))["steps"]
    return [(step["result"], step["path"]) for step in steps]


@pytest.mark.parametrize(
    ("name", "arguments", "path"),
    [
        ("m", {"name": "pattern-x.md", "text": "abc def"}, "memory/pattern-x.md"),
        ("m", {"text": "pattern-x.md: abc def"}, "memory/pattern-x.md"),
        ("m", {"text": "abc `[run]` def"}, "memory/abc-run-def.md"),
        ("m", {"name": "Locks", "text": "hold writers"}, "memory/locks-hold-writers.md"),
        ("m", {"name": "Locks"}, "memory/note-locks.md"),
        ("rule", {"name": "tests", "text": "abc def"}, "rules/tests.md"),
    ],
)
def test_act_does_what_the_prompt_announces(
    ask: Asker, project: Project, name: str, arguments: dict[str, str], path: str
) -> None:
    """The message in the prompt creates the announced file, with the user's words in it."""
    text = ask.prompt_with(name, arguments)
    assert f'it begins ".nexus/{path}". {SAFELY}, without the fence:\n\n' in text
    assert carried_out(project, text) == [("created", path)]
    assert (arguments.get("text") or arguments["name"]).removeprefix("pattern-x.md: ").encode() in project.get(path)


@pytest.mark.parametrize("words", ["abc def [run] ghi", "[d] abc def", "abc def [m] ghi"])
@pytest.mark.parametrize(("name", "file"), [("m", "memory/pattern-x.md"), ("rule", "rules/tests.md")])
def test_text_with_tags_is_written_by_the_model(ask: Asker, name: str, file: str, words: str) -> None:
    """A text that act would not keep whole is written by the model: nothing behind a tag within it is lost."""
    word = {"m": "pattern-x.md", "rule": "tests"}[name]
    text = ask.prompt(name, name=word, text=words)
    assert f'it begins ".nexus/{file}". Write all of it into that file yourself: `nexus-mcp act` would not' in text
    assert SAFELY not in text
    assert f"The user's words:\n\n```\n{words}\n```\n\n" in text


def test_cut_words_decide_nothing(ask: Asker, project: Project) -> None:
    """If a client passed the first words only, the prompt states neither place nor merging nor equality by them."""
    project.put("memory/pattern-nfs.md", "<!-- tags: nfs -->\nOn NFS\n")
    text = ask.prompt("m", name="On", text="NFS")
    assert "It may be only the beginning of the user's sentence, and the whole sentence decides" in text
    assert "ask the user and wait for the answer" in text
    assert "pattern-nfs" not in text
    assert "it begins" not in text
    assert "The user's words:\n\n```\nOn NFS\n```\n\n" in text
    project.put("rules/tests.md", "No sleeps")
    text = ask.prompt("rule", name="tests", text="No")
    assert 'it is added to ".nexus/rules/tests.md".' in text
    assert f"{SAFELY}, with the user's words in full, without the fence:" in text
    assert "\n\n```\n[rule:tests] No\n```\n\n" in text


def test_words_after_gc_are_kept(ask: Asker) -> None:
    """Words behind gc are not dropped: with them the user may mean a note."""
    text = ask.prompt("m", name="gc", text="is")
    assert "The user wrote more words after `gc`; they are below. The whole sentence decides" in text
    assert "The user's words:\n\n```\ngc is\n```\n\n" in text
    assert "more words" not in ask.prompt("m", name="gc")


def test_placeholders_in_the_code_are_known() -> None:
    """Each placeholder in a text of the package is one that has words."""
    catalog = load(None)
    known = {
        "tool": catalog.vocabulary["tools"],
        "agent": catalog.agents,
        "skill": catalog.skills,
        "action": catalog.vocabulary["invocations"],
    }
    root = Path(nexus_mcp.__file__).parent
    texts = [
        (path.relative_to(root).as_posix(), node.value)
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    used = [
        (where, kind, name)
        for where, text in texts
        for _, _, kind, name in placeholders.find_placeholders(text)
        if kind in known
    ]
    assert ("server/prompts/actions.py", "action", "ask_user") in used
    assert [one for one in used if one[2] not in known[one[1]]] == []


def test_an_unknown_placeholder_is_noticed() -> None:
    """Bad input: an action that no vocabulary has is a fault."""
    found = placeholders.find_faults("Now {{action:edit_file}}.", {"action": load(None).vocabulary["invocations"]})
    assert [(offset, told()) for offset, told in found] == [(4, "there is no action 'edit_file'")]


def test_list_has_one_line_for_all_further_items() -> None:
    """Items beyond the limit and items that the caller left out are counted together."""
    assert bullet_list(["a", "b"], 3) == "- a\n- b\n- and 3 more"
    lines = bullet_list(["a"] * (MOST + 2), 3).split("\n")
    assert (len(lines), lines[-2:]) == (MOST + 1, ["- a", "- and 5 more"])
