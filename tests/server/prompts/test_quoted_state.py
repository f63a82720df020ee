"""Prompts describe the project's state correctly, without invisible characters."""

from __future__ import annotations

import pytest

from tests.server.app_requests import Asker
from tests.support import Project, issue, plan, task, tasks


def test_unknown_numbers_are_not_stated_as_facts(ask: Asker, project: Project) -> None:
    """A task or issue that does not exist, or is decided, is not presented as open: the prompt lists the
    present ones.
    """
    words = "The number may be the first of the user's words and not"
    assert f'## Task\n\nThere is no task "99"; there are no tasks. {words} a task id.' in ask.prompt("run", task="99")
    project.put("state/tasks.json", tasks(task(1), task(2)))
    text = ask.prompt("run", task="99")
    assert f'## Task\n\nThere is no task "99"; the tasks are 1, 2. {words} a task id. Carry out nothing before' in text
    assert "Carry out only" not in text
    project.put("state/plan.json", plan(1, issues=[issue(1, "A"), issue(2, "B", "decided", decision="x")]))
    for number, told in (("99", 'The plan has no issue "99"'), ("2", 'Issue "2" is decided already')):
        text = ask.prompt("d", issue=number, text="Take it")
        assert f"{told}. {words} an issue id. So record nothing before" in text
        assert "It is the decision on" not in text


@pytest.mark.requirement("prompts.data")
def test_invisible_characters_are_escaped(ask: Asker, project: Project) -> None:
    """Name and description of a project's own skill reach the client with controls and bidi marks made visible."""
    meta = (
        'id: ev\nname: "E\\e[31m\\u202ex"\ndescription: "d\\e]0;x\\a\\u202e"\nmanual_only: false\nharness_notes: []\n'
    )
    project.put("skills/ev/meta.yml", meta)
    project.put("skills/ev/body.md", "Ours.\n")
    (page,) = ask.pages("prompts/list", "prompts")
    (found,) = [prompt for prompt in page if prompt["name"] == "ev"]
    assert (found["title"], found["description"]) == ("E\\x1b[31m\\u202ex", "d\\x1b]0;x\\x07\\u202e")
    assert ask("prompts/get", name="ev")["description"] == found["description"]
