"""The texts of agents and skills are complete, name no harness, and differ from each other."""

from __future__ import annotations

from itertools import combinations

import pytest

from nexus_mcp.catalog.load import load
from nexus_mcp.packaged import data_path
from nexus_mcp.tools import TOOLS as ALL
from tests.assets import texts

BODIES = texts.bodies()
EACH = pytest.mark.parametrize(("kind", "name"), BODIES, ids=[name for _, name in BODIES])
GOOD = BODIES["agents", "tester"]
TOOLS = {tool.name: tool for tool in ALL}


@EACH
def test_a_text_has_its_sections(kind: str, name: str) -> None:
    """Issue 6: each text has a role, limits, a procedure, the form of the result, and when to stop and ask the user;
    its length is bounded.
    """
    assert list(texts.structure_faults(kind, BODIES[kind, name])) == []


@EACH
def test_a_text_is_harness_neutral(kind: str, name: str) -> None:
    """It names no tool of a harness, and tools of ours only by placeholders."""
    assert list(texts.name_faults(BODIES[kind, name])) == []


@EACH
def test_placeholders_name_existing_entries(kind: str, name: str) -> None:
    """A tool of the table, an agent, a skill or an action."""
    assert texts.placeholder_faults(BODIES[kind, name]) == []


def test_texts_share_no_sentence() -> None:
    """Nine agents are nine texts: no sentence of more than twelve words stands in two of them."""
    said = {name: texts.sentences(text) for name, text in BODIES.items()}
    assert {(one, two): both for one, two in combinations(said, 2) if (both := said[one] & said[two])} == {}
    assert min(len(found) for found in said.values()) > 10


def test_a_text_names_the_agent_to_hand_over_to() -> None:
    """Each agent names another agent for the work that it does not do, and never itself; no skill starts itself."""
    for (kind, name), text in BODIES.items():
        named = [agent for agent in load(None).agents if f"{{{{agent:{agent}}}}}" in text]
        assert kind == "skills" or (named and name not in named), name
        assert f"{{{{skill:{name}}}}}" not in text


def test_hand_back_is_a_form() -> None:
    """The result of an agent has a fixed form: a block of lines that begin with a word in capitals."""
    for name, text in BODIES.items():
        form = text.partition("\n## Hand back\n")[2].partition("```text\n")[2].partition("```")[0]
        lines = form.splitlines()
        assert len(lines) >= 4, name
        assert [line for line in lines if not line.partition(":")[0].isupper()] == [], name


def test_planning_and_running_teach_the_tools() -> None:
    """nx-plan and nx-run name the tools that move a cycle on, nx-plan all parameters of a task and of a decision."""
    plan, run = BODIES["skills", "nx-plan"], BODIES["skills", "nx-run"]
    for tool in ("plan_start", "plan_status", "plan_update", "plan_decide", "task_add", "task_list", "history_search"):
        assert f"{{{{tool:{tool}}}}}" in plan
    for tool in ("task_list", "task_update", "task_close", "plan_status", "context"):
        assert f"{{{{tool:{tool}}}}}" in run
    for word in (*TOOLS["task_add"].parameters, *TOOLS["plan_decide"].parameters, "[d]", "[plan:auto]"):
        assert f"`{word}`" in plan
    positions = [run.index(f"\n{part}: ") for part in ("TASK", "CONTEXT", "APPROACH", "ACCEPTANCE")]
    assert positions == sorted(positions)


def test_planning_asks_first_and_looks_for_gaps_last() -> None:
    """nx-plan asks the user for the goal before research, and looks for gaps after the tasks were added."""
    plan = BODIES["skills", "nx-plan"]
    steps = [line.split(". ", 1)[1] for line in plan.splitlines() if line.startswith("### ")]
    assert [steps.index(step) for step in ("Ask what is wanted", "Research before you ask more")] == [1, 2]
    assert steps[-1] == "Look for gaps, and close the planning"
    for words in (
        "plan on top of the list",
        "show the progress",
        "Pair each maker",
        "Documents only",
        "One file together",
    ):
        assert words in " ".join(plan.split())
    assert "Generated files" in plan


def test_running_guards_the_branch_and_shows_progress() -> None:
    """nx-run changes nothing on the main branch without a word of the user, and reports each change of a task."""
    run = " ".join(BODIES["skills", "nx-run"].split())
    assert "Nothing is changed or committed on the main branch without a word of the user" in run
    assert "Keep the progress visible." in run


def test_tester_rates_failures_by_one_scale() -> None:
    """The levels of the table are those of the form, and there is a security mode and guidance for tests."""
    tester = BODIES["agents", "tester"]
    levels = [line.split("|")[1].strip() for line in tester.splitlines() if line.startswith("| ")][1:]
    assert levels == ["critical", "high", "medium", "low"]
    assert f"[{' | '.join(levels)}]" in tester
    for words in ("**Security mode.**", "**Tests to write.**"):
        assert words in tester


@pytest.mark.parametrize(
    ("name", "most"), [("nx-init", 9000), ("nx-sync", 9000), ("nx-plan", 14000), ("nx-run", 12500)]
)
def test_skill_texts_have_a_maximum_length(name: str, most: int) -> None:
    """Every session that starts a skill pays for its text."""
    assert len(BODIES["skills", name]) <= most


def test_the_skills_name_every_agent() -> None:
    """An agent that no skill ever calls would be there for nothing."""
    both = BODIES["skills", "nx-plan"] + BODIES["skills", "nx-run"]
    assert [agent for agent in load(None).agents if f"{{{{agent:{agent}}}}}" not in both] == []


def test_every_action_is_used_by_a_text() -> None:
    """Some text uses each action, and `say` is a phrase that fits into a sentence."""
    text = "".join(BODIES.values())
    actions = load(None).vocabulary["invocations"]
    assert [action for action in actions if f"{{{{action:{action}}}}}" not in text] == []
    assert [action for action, entry in actions.items() if not entry["say"][0].islower()] == []
    assert [action for action, entry in actions.items() if entry["say"].endswith(".")] == []


@pytest.mark.parametrize("harness", ["claude-code", "codex", "opencode"])
def test_notes_of_a_harness_say_how_agents_start_and_resume(harness: str) -> None:
    """The notes of each harness are short, and say how to start and resume an agent, how to ask the user, and the names
    of the tools.
    """
    with open(data_path("assets", "harnesses", harness, "notes.md"), encoding="utf-8") as file:
        text = file.read()
    titles = [line for line in text.splitlines() if line.startswith("## ")]
    assert titles == ["## Start an agent", "## Resume an agent", "## Ask the user", "## Names of tools"]
    assert len(text.splitlines()) <= 60
    assert [line for line in text.splitlines() if len(line) > texts.WIDTH] == []
    assert "{{" not in text


@pytest.mark.parametrize(
    ("planted", "told"),
    [
        (GOOD.replace("## Limits\n", "## Bounds\n"), ["has not the five sections in their order"]),
        (GOOD.replace("# Tester\n", "Tester\n"), ["has no title, or two"]),
        (GOOD + "\n## More\n", ["has nothing under More"]),
        ("\n".join(GOOD.splitlines()[:40]), ["has not the five sections in their order", "has 40 lines"]),
        (
            GOOD + "x" * 141 + "\n",
            [f"has a line {len(GOOD.splitlines()) + 1} that is too long, or has space at its end"],
        ),
    ],
    ids=["section", "title", "empty", "short", "wide"],
)
def test_a_fault_of_structure_is_caught(planted: str, told: list[str]) -> None:
    """The rules are held against texts that break them."""
    assert list(texts.structure_faults("agents", planted)) == told


@pytest.mark.parametrize(
    ("planted", "told"),
    [
        ("Start it with Bash.", ["Bash"]),
        ("Then AskUserQuestion, or apply_patch.", ["AskUserQuestion", "apply_patch"]),
        ("Use the Read tool.", ["Read tool"]),
        ("Call `edit` for it.", ["`edit`"]),
        ("Call mcp__x__plan.", ["mcp__"]),
        ("Call plan_decide.", ["plan_decide"]),
        ("Call spawn_agent.", ["spawn_agent"]),
        ("Read it, write it, and end the task. {{tool:plan_decide}} {{action:spawn_agent}}", []),
    ],
)
def test_a_name_of_a_tool_is_caught(planted: str, told: list[str]) -> None:
    """Names are found where they name a tool, and left alone where they are English."""
    assert list(texts.name_faults(planted)) == told


def test_an_unknown_placeholder_is_caught() -> None:
    """With the name that was probably meant."""
    assert texts.placeholder_faults("{{action:ask_usr}} {{agent:tester}}") == [
        "there is no action 'ask_usr'; did you mean ask_user?"
    ]


def test_a_shared_sentence_is_caught() -> None:
    """A line break, a comma and a capital make no difference; short sentences may be shared."""
    one = "Short. The owner of a task is told what was seen, word for word, before anybody asks."
    two = "- the owner of a task is told\n  what was seen word for word before anybody asks. Short."
    assert texts.sentences(one) == texts.sentences(two) != set()
    assert texts.sentences("Eleven words are not enough for two texts to be alike.") == set()
