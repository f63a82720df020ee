"""`nexus-mcp capabilities add` and `remove`: the changed files, and the files that stay."""

from __future__ import annotations

import json
from unittest.mock import patch

import pytest

from nexus_mcp.catalog.load import load
from nexus_mcp.catalog.maps import classes_of
from nexus_mcp.errors import WaitStopped
from tests.cli.test_capabilities import run
from tests.support import Project

META = ".nexus/agents/writer/meta.yml"
SHELL = ("--class", "shell_command_exec", "--harness-id", "opencode")
SHELL_MAP = "# ours\nopencode:\n  classes:\n    shell_command_exec:{}\n"
FROZEN = [
    "The list now equals the shipped one, but stays in the file because a comment is in it or beside it.",
    "Delete it by hand; else additions of a later release to the shipped list have no effect in this project.",
]


class TestChanges:
    """`add` and `remove` change the files of the project."""

    def test_capability_is_added_and_removed(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        """A capability is added once, and removed again."""
        words = ("no_shell_exec", "--agent", "writer")
        assert run(project, capsys, "add", *words) == (0, f"{META}: writer has no_shell_exec now.\n", "")
        assert run(project, capsys, "add", *words) == (0, "writer has no_shell_exec already.\n", "")
        assert load(str(project.root)).agent("writer")["added"] == ["no_shell_exec"]
        assert run(project, capsys, "remove", *words) == (
            0,
            f"{META}: writer does not have no_shell_exec any more.\n",
            "",
        )
        assert load(str(project.root)).agent("writer")["added"] == []

    def test_removing_all_added_tools_deletes_the_file(
        self, project: Project, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """`remove` deletes a file of `add` that has become empty, so that a later release's shipped values apply."""

        def own_files() -> list[str]:
            return sorted(
                path for path in project.snapshot() if not path.startswith((".git", ".nexus/state", ".nexus/."))
            )

        for words in (("no_shell_exec", "--agent", "writer"), (*SHELL, "--tool", "term_*")):
            assert run(project, capsys, "add", *words)[0] == 0
            assert len(own_files()) > 1
            code, out, err = run(project, capsys, "remove", *words)
            assert (code, out.count("\n"), err) == (0, 1, "")
            assert own_files() == [".nexus"]

    @pytest.mark.parametrize(
        ("words", "text", "left"),
        [
            (
                (*SHELL, "--tool", "y"),
                "# ours\nopencode:\n  reading: [x]  # a\n  classes:\n    shell_command_exec: [bash, y]\n# end\n",
                "# ours\nopencode:\n  reading: [x]  # a\n# end\n",
            ),
            ((*SHELL, "--tool", "y"), SHELL_MAP.format(" [y, bash]"), "# ours\n{}\n"),
            (
                ("no_shell_exec", "--agent", "writer"),
                "id: writer  # ours\ncapabilities: [no_task_create, no_shell_exec]\nname: W\n",
                "id: writer  # ours\nname: W\n",
            ),
        ],
    )
    def test_list_equal_to_the_shipped_one_is_removed(
        self, project: Project, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], text: str, left: str
    ) -> None:
        """A list that equals the shipped one is removed, with the parents that this leaves empty; other entries
        stay.
        """
        path = "agents/writer/meta.yml" if "--agent" in words else "capability-map.yml"
        project.put(path, text)
        code, out, _ = run(project, capsys, "remove", *words)
        assert (code, out.count("\n"), project.get(path).decode()) == (0, 1, left)

    def test_a_list_with_a_comment_stays(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        """A list with a user's comment stays even if it equals the shipped list, with a message."""
        project.put("capability-map.yml", SHELL_MAP.format("\n    - bash  # by agreement\n    - y"))
        code, out, _ = run(project, capsys, "remove", *SHELL, "--tool", "y")
        assert (code, out.splitlines()[1:]) == (0, FROZEN)
        assert project.get("capability-map.yml").decode() == SHELL_MAP.format("\n    - bash  # by agreement")

    def test_a_text_of_the_projects_own_stays(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        """Where the folder of the agent has more in it, the file that it needs stays."""
        words = ("no_shell_exec", "--agent", "writer")
        run(project, capsys, "add", *words)
        project.put("agents/writer/body.md", "Write.\n")
        assert run(project, capsys, "remove", *words)[0] == 0
        assert project.get("agents/writer/meta.yml").decode().splitlines()[1:] == ["id: writer"]
        assert load(str(project.root)).agent("writer")["own_body"] is True

    def test_a_canonical_one_stays(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        """Contract §5: taking a canonical capability away is refused, with the reason."""
        before = project.snapshot()
        code, out, err = run(project, capsys, "remove", "no_file_edit", "--agent", "architect")
        assert (code, out) == (1, "")
        assert err == (
            "nexus-mcp: no_file_edit is a restriction of the shipped agent architect and cannot be removed; "
            "nothing was changed. Give the work to engineer or writer, or write an "
            "agent of your own under another id, in .nexus/agents.\n"
        )
        assert project.snapshot() == before

    def test_capability_of_the_projects_own_agent_can_be_removed(
        self, project: Project, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A project's own agent may lose any of its capabilities."""
        meta = (
            "id: dba  # ours\nname: D\ndescription: D.\ncategory: how\nresume_tier: persistent\nmodel_tier: high\n"
            "capabilities:\n- no_file_edit\n- no_task_create  # not the lead\n"
        )
        project.put("agents/dba/meta.yml", meta)
        project.put("agents/dba/body.md", "Judge.\n")
        code, _, _ = run(project, capsys, "remove", "no_file_edit", "--agent", "dba")
        assert (code, project.get("agents/dba/meta.yml").decode()) == (0, meta.replace("- no_file_edit\n", ""))

    def test_tool_is_added_to_a_class_and_removed(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        """Named as one of a class, and taken out again."""
        words = ("--class", "shell_command_exec", "--tool", "term_*", "--harness-id", "opencode")
        path = ".nexus/capability-map.yml"
        assert run(project, capsys, "add", *words)[1] == f"{path}: term_* is now in shell_command_exec of opencode.\n"
        assert run(project, capsys, "add", *words)[1] == "term_* is already in shell_command_exec of opencode.\n"
        assert load(str(project.root)).maps["opencode"]["classes"]["shell_command_exec"] == ["bash", "term_*"]
        assert run(project, capsys, "remove", *words)[0] == 0
        assert load(str(project.root)).maps["opencode"] == load(None).maps["opencode"]

    def test_a_shipped_tool_stays(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        """The shipped tools of a class cannot be removed: an agent would lose a restriction."""
        words = ("--class", "structured_document_edit", "--harness-id", "claude-code", "--tool")
        stays = (
            "nexus-mcp: NotebookEdit is in structured_document_edit of the shipped map of claude-code, and cannot "
            "be removed: agents that may not use the class could use this tool then; nothing was changed. "
        )
        added = f"{stays}This project added nothing to the class.\n"
        assert run(project, capsys, "remove", *words, "NotebookEdit") == (1, "", added)
        assert run(project, capsys, "add", *words, "Dummy")[0] == 0
        before = project.get("capability-map.yml")
        assert run(project, capsys, "remove", *words, "NotebookEdit") == (1, "", f"{stays}This project added Dummy.\n")
        assert project.get("capability-map.yml") == before
        use = ("--agent", "tester", "--tool", "NotebookEdit", "--harness-id", "claude-code")
        assert run(project, capsys, "check", *use)[0] == 1
        assert run(project, capsys, "remove", *words, "Dummy")[0] == 0

    def test_the_last_tool_stays(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        """Of a harness of the project's own every class keeps a tool."""
        classes = {name: ["sh", "x"] for name in classes_of(load(None).vocabulary)}
        project.put("capability-map.yml", json.dumps({"mine": {"classes": classes}}, indent=1))
        words = ("remove", "--class", "shell_command_exec", "--harness-id", "mine", "--tool")
        assert run(project, capsys, *words, "x")[0] == 0
        code, out, err = run(project, capsys, *words, "sh")
        told = "nexus-mcp: sh is the only tool in shell_command_exec of mine: without it the class would forbid nothing"
        assert (code, out, err[: len(told)]) == (1, "", told)

    def test_interrupt_during_the_wait_changes_nothing(
        self, project: Project, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Ctrl-C ends the wait for the lock: nothing is changed."""
        with patch("nexus_mcp.catalog.edits.carry_out", side_effect=WaitStopped("lock", "get", "stopped")):
            code, out, err = run(project, capsys, "add", "no_shell_exec", "--agent", "writer")
        assert (code, out, err) == (130, "", "nexus-mcp: Interrupted; nothing was changed.\n")
