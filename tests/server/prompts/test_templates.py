"""Prompts for clients that insert the typed words later, or send the whole line as one argument."""

from __future__ import annotations

import re

import pytest

from nexus_mcp.catalog.load import load
from nexus_mcp.server.prompts.templates import FENCE
from nexus_mcp.store.store import Store
from nexus_mcp.tags.act import act
from nexus_mcp.workspace import Workspace
from tests.server.app_requests import Asker
from tests.support import Project, issue, plan

TEMPLATES = [(name, arguments) for name, arguments in (("plan", ("mode", "request")), ("run", ("task", "request")))] + [
    ("sync", ("request",)),
    ("nx-init", ("request",)),
    ("d", ("issue", "text")),
    ("m", ("name", "text")),
    ("rule", ("name", "text")),
]


def placeholders(names: tuple[str, ...]) -> dict[str, str]:
    """Return the values that OpenCode sends for the arguments of a prompt."""
    return {name: f"${place}" for place, name in enumerate(names, 1)}


def expand(template: str, line: str) -> str:
    """Put a typed line into a template as OpenCode 1.18 does: the last placeholder takes the rest."""
    words = line.split()
    last = max((int(number) for number in re.findall(r"\$(\d+)", template)), default=0)

    def word(found: re.Match[str]) -> str:
        place = int(found[1])
        return " ".join(words[place - 1 :] if place == last else words[place - 1 : place])

    return re.sub(r"\$(\d+)", word, template)


@pytest.mark.parametrize(("name", "arguments"), TEMPLATES)
def test_the_typed_words_stand_in_each_prompt_in_their_order(ask: Asker, name: str, arguments: tuple[str, ...]) -> None:
    """OpenCode's placeholders are not refused: the typed words replace them in the text, whole and fenced."""
    text = expand(ask.prompt_with(name, placeholders(arguments)), "tests No sleeps")
    assert f"{FENCE}\ntests No sleeps\n{FENCE}" in text
    assert "$" not in text


def test_the_message_for_act_keeps_a_note(ask: Asker, project: Project) -> None:
    """`/nexus:m hold writers` stores a note if the model follows the prompt."""
    text = expand(ask.prompt_with("m", placeholders(("name", "text"))), "hold writers")
    message = text.partition("without the fence:\n\n")[2].split("\n")[1]
    assert message == "[m] hold writers"
    steps = act(message, load(None), Store(Workspace(str(project.root))))["steps"]
    assert [(step["result"], step["path"]) for step in steps] == [("created", "memory/hold-writers.md")]


@pytest.mark.parametrize("line", ["tests No sleeps", '"tests No sleeps"'])
def test_a_rule_is_read_from_its_words(ask: Asker, line: str) -> None:
    """`opencode run` quotes the line, so that the first placeholder gets all of it; the words stay the same."""
    words = {"$1": "tests", "$2": "No sleeps"} if line[0] != '"' else {"$1": line.strip('"'), "$2": ""}
    text = ask.prompt_with("rule", placeholders(("name", "text")))
    assert text.count("$1") == text.count("$2") == 1
    for placeholder, value in words.items():
        text = text.replace(placeholder, value)
    assert f"{FENCE}\ntests No sleeps" in text
    assert "give it the message `[rule:WORD] REST`, with the user's words in place of WORD and REST" in text


def test_words_that_were_not_typed_leave_no_placeholder(ask: Asker) -> None:
    """The prompt says what to do if a placeholder was replaced by no word."""
    text = expand(ask.prompt_with("rule", placeholders(("name", "text"))), "")
    assert f"{FENCE}\n \n{FENCE}" in text
    assert "If this block is empty, the user typed nothing after the command." in text
    assert "keep nothing and ask" in text


def test_a_template_names_the_modes_and_pending_issues(ask: Asker, project: Project) -> None:
    """The model can read the first word, though the server cannot."""
    project.put("state/plan.json", plan(issues=[issue(1, "Where?"), issue(2, "When?", "decided", decision="now")]))
    assert "If the first word is `auto` (" in ask.prompt_with("plan", placeholders(("mode", "request")))
    text = ask.prompt_with("d", placeholders(("issue", "text")))
    assert "If the first word is the id of a pending issue" in text
    assert '- 1: "Where?"\n' in text


def test_a_decision_without_a_plan_is_refused_in_a_template_too(ask: Asker) -> None:
    """Nothing can be recorded, whatever the words will be."""
    assert "Record nothing, and tell the user so." in ask.prompt_with("d", placeholders(("issue", "text")))


def test_stored_texts_expand_to_nothing(ask: Asker, project: Project) -> None:
    """A title with a command, a file or a placeholder stays a title: OpenCode would run, attach or replace it."""
    project.put("state/plan.json", plan(issues=[issue(1, "costs $2 $ARGUMENTS !`touch x` @/etc/passwd me@home.org")]))
    for name, arguments in TEMPLATES:
        text = ask.prompt_with(name, placeholders(arguments))
        stored = (
            text.replace("$1", "").replace("$2", "") if name in ("m", "rule") else text.rpartition(FENCE + "\n$1")[0]
        )
        assert not re.search(r"\$\d|\$ARGUMENTS|!`|(?<![\w`])@", stored), name
    text = ask.prompt_with("d", placeholders(("issue", "text")))
    assert "costs $ 2 $ ARGUMENTS" in text
    assert "me@home.org" in text


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("rule", {"name": "tests No sleeps"}, '".nexus/rules/tests.md"'),
        ("rule", {"text": "tests No sleeps"}, '".nexus/rules/tests.md"'),
        ("rule", {"name": "tests", "text": "No"}, '".nexus/rules/tests.md"'),
        ("m", {"name": "pattern-x.md No sleeps"}, '".nexus/memory/pattern-x.md"'),
    ],
)
def test_a_line_in_one_argument_is_read_as_a_command_line(
    ask: Asker, name: str, arguments: dict[str, str], expected: str
) -> None:
    """One word for each argument, or the whole line in one: the first word names the file."""
    text = ask.prompt_with(name, arguments)
    assert expected in text
    assert "No" in text.partition("The user's words:")[2]


def test_a_mode_is_split_off_the_line(ask: Asker) -> None:
    """`auto a login page` as the first argument is the mode and a request."""
    text = ask.prompt("plan", mode="auto a login page")
    assert "## Mode\n\nauto: " in text
    assert "\na login page\n" in text


def test_a_single_word_still_lacks_the_rest(ask: Asker) -> None:
    """A rule of one word has no text."""
    assert ask.refused("prompts/get", name="rule", arguments={"name": "tests"})[1] == "Prompt rule: text is required"
