"""`nexus-mcp capabilities`: what agents may not do, shown, checked and changed."""

from __future__ import annotations

import json
import subprocess
import sys
from unittest.mock import patch

import pytest

from nexus_mcp.catalog.load import load
from nexus_mcp.catalog.maps import classes_of
from nexus_mcp.cli import main
from nexus_mcp.errors import WaitStopped
from tests.cli.support import CHECKOUT, environment
from tests.support import Project

META = ".nexus/agents/writer/meta.yml"


def _run(project: Project, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["capabilities", words[0], "--project", str(project.root), *words[1:]])
    out, err = capsys.readouterr()
    return code, out, err


class TestShow:
    """`show` changes nothing."""

    def test_a_line_for_each_agent(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        """What the project added has a plus."""
        project.put("agents/writer/meta.yml", "id: writer\ncapabilities: [no_task_create, no_shell_exec]\n")
        code, out, err = _run(project, capsys, "show")
        assert (code, err) == (0, "")
        assert out.splitlines()[::8] == [
            "architect   no_file_edit no_task_create no_task_update",
            "writer      no_task_create +no_shell_exec",
        ]

    def test_one_agent(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        """What it may not do, and the tools of the harness that this takes away."""
        code, out, _ = _run(project, capsys, "show", "--agent", "engineer", "--harness-id", "opencode")
        assert (code, out) == (
            0,
            "no_task_create: Adds no tasks to the list; whoever leads the work does.\n"
            "  opencode: nexus_task_add, *task_add\n",
        )

    def test_one_class(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        """Its tools in each harness."""
        code, out, _ = _run(project, capsys, "show", "--class", "structured_document_edit")
        assert (code, out) == (
            0,
            "structured_document_edit, blocked by no_file_edit:\n"
            "  claude-code: NotebookEdit\n"
            "  codex: apply_patch\n"
            "  opencode: edit, multiedit, write, apply_patch, patch\n",
        )

    def test_a_server_of_another_name(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        """What nexus_tools makes of a tool is shown with its class, for a program too."""
        project.put("capability-map.yml", "codex: {nexus_tools: work_nx_*}\n")
        words = ("show", "--class", "nexus_task_creation", "--harness-id", "codex")
        tools = ["mcp__nexus__task_add", "mcp__*__*task_add", "work_nx_task_add"]
        told = f"nexus_task_creation, blocked by no_task_create:\n  codex: {', '.join(tools)}\n"
        assert _run(project, capsys, *words) == (0, told, "")
        found = json.loads(_run(project, capsys, *words, "--json")[1])
        assert found["classes"] == {"codex": {"nexus_task_creation": tools}}

    def test_json(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        """The same for a program: what an adapter needs to forbid tools by name."""
        words = ("show", "--json", "--agent", "writer", "--class", "shell_command_exec", "--harness-id", "opencode")
        code, out, _ = _run(project, capsys, *words)
        assert code == 0
        assert json.loads(out) == {
            "agents": {
                "writer": {
                    "canonical": ["no_task_create"],
                    "added": [],
                    "effective": ["no_task_create"],
                    "disallowed": {"opencode": ["nexus_task_add", "*task_add"]},
                }
            },
            "classes": {"opencode": {"shell_command_exec": ["bash"]}},
        }


class TestCheck:
    """`check` tells, and its exit code does."""

    def test_the_maps(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        """Every class has a tool in every map."""
        code, out, _ = _run(project, capsys, "check")
        assert code == 0
        assert [line.partition(",")[0] for line in out.splitlines()] == [
            f"{harness}: 11 of 11 classes have a tool" for harness in ("claude-code", "codex", "opencode")
        ]
        assert _run(project, capsys, "check", "--class", "file_creation", "--harness-id", "codex") == (
            0,
            "codex: 1 of 1 classes have a tool, 3 names in all.\n",
            "",
        )

    def test_a_map_without_a_class(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        """Bad input: file, line and column, and what it means."""
        project.put("capability-map.yml", "codex:\n  classes:\n    file_creation: []\n")
        code, out, err = _run(project, capsys, "check")
        assert (code, out) == (1, "")
        assert err.splitlines()[0] == (
            "nexus-mcp: .nexus/capability-map.yml:3:5: the class file_creation has no tool: without one, whatever it "
            "forbids is allowed"
        )

    def test_a_tool(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        """Its classes, in each harness."""
        code, out, _ = _run(project, capsys, "check", "--tool", "apply_patch\x1b")
        assert (code, out.splitlines()[0]) == (0, "claude-code: apply_patch\\x1b is of no class.")
        code, out, _ = _run(project, capsys, "check", "--tool", "write_stdin", "--harness-id", "codex")
        assert (code, out) == (0, "codex: write_stdin is of interactive_shell_session.\n")

    def test_an_agent_and_a_tool(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        """Whether it may use it; if not, what to do instead, and exit code 1."""
        words = ("check", "--harness-id", "claude-code", "--tool", "Write", "--agent")
        assert _run(project, capsys, *words, "writer") == (0, "claude-code: writer may use Write.\n", "")
        code, out, _ = _run(project, capsys, *words, "tester")
        assert (code, out) == (
            1,
            "claude-code: tester may not use Write (no_file_edit: workspace_write_denial). Write down what has to "
            "change, file by file, and hand it to engineer or writer. What you found out yourself may go into an "
            "artifact.\n",
        )


class TestChanges:
    """`add` and `remove` change the files of the project."""

    def test_a_capability(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        """Added once, and taken away again."""
        words = ("no_shell_exec", "--agent", "writer")
        assert _run(project, capsys, "add", *words) == (0, f"{META}: writer has no_shell_exec now.\n", "")
        assert _run(project, capsys, "add", *words) == (0, "writer has no_shell_exec already.\n", "")
        assert load(str(project.root)).agent("writer")["added"] == ["no_shell_exec"]
        assert _run(project, capsys, "remove", *words) == (
            0,
            f"{META}: writer does not have no_shell_exec any more.\n",
            "",
        )
        assert load(str(project.root)).agent("writer")["added"] == []

    def test_a_canonical_one_stays(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        """Contract §5: taking a canonical capability away is refused, with the reason."""
        before = project.snapshot()
        code, out, err = _run(project, capsys, "remove", "no_file_edit", "--agent", "architect")
        assert (code, out) == (1, "")
        assert err == (
            "nexus-mcp: no_file_edit belongs to architect itself and may not be taken away: what a shipped agent may "
            "not do, it may not do anywhere; nothing was changed. Give the work to engineer or writer, or write an "
            "agent of your own under another id (docs/agents.md).\n"
        )
        assert project.snapshot() == before

    def test_one_of_the_projects_own_agent(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        """What is not shipped belongs to the project."""
        meta = (
            "id: dba  # ours\nname: D\ndescription: D.\ncategory: how\nresume_tier: persistent\nmodel_tier: high\n"
            "capabilities:\n- no_file_edit\n- no_task_create  # not the lead\n"
        )
        project.put("agents/dba/meta.yml", meta)
        project.put("agents/dba/body.md", "Judge.\n")
        code, _, _ = _run(project, capsys, "remove", "no_file_edit", "--agent", "dba")
        assert (code, project.get("agents/dba/meta.yml").decode()) == (0, meta.replace("- no_file_edit\n", ""))

    def test_a_tool(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        """Named as one of a class, and taken out again."""
        words = ("--class", "shell_command_exec", "--tool", "term_*", "--harness-id", "opencode")
        path = ".nexus/capability-map.yml"
        assert _run(project, capsys, "add", *words)[1] == f"{path}: term_* is of shell_command_exec in opencode now.\n"
        assert _run(project, capsys, "add", *words)[1] == "term_* is of shell_command_exec in opencode already.\n"
        assert load(str(project.root)).maps["opencode"]["classes"]["shell_command_exec"] == ["bash", "term_*"]
        assert _run(project, capsys, "remove", *words)[0] == 0
        assert load(str(project.root)).maps["opencode"] == load(None).maps["opencode"]

    def test_a_shipped_tool_stays(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        """A class keeps what the shipped map has in it: without it an agent would lose a restriction."""
        words = ("--class", "structured_document_edit", "--harness-id", "claude-code", "--tool")
        stays = (
            "nexus-mcp: NotebookEdit is of structured_document_edit in the map of claude-code that is shipped, and may "
            "not be taken out: whoever may not do what the class is about could do it with that; nothing was changed. "
        )
        added = f"{stays}This project added nothing to the class.\n"
        assert _run(project, capsys, "remove", *words, "NotebookEdit") == (1, "", added)
        assert _run(project, capsys, "add", *words, "Dummy")[0] == 0
        before = project.get("capability-map.yml")
        assert _run(project, capsys, "remove", *words, "NotebookEdit") == (1, "", f"{stays}This project added Dummy.\n")
        assert project.get("capability-map.yml") == before
        use = ("--agent", "tester", "--tool", "NotebookEdit", "--harness-id", "claude-code")
        assert _run(project, capsys, "check", *use)[0] == 1
        assert _run(project, capsys, "remove", *words, "Dummy")[0] == 0

    def test_the_last_tool_stays(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        """Of a harness of the project's own every class keeps a tool."""
        classes = {name: ["sh", "x"] for name in classes_of(load(None).vocabulary)}
        project.put("capability-map.yml", json.dumps({"mine": {"classes": classes}}, indent=1))
        words = ("remove", "--class", "shell_command_exec", "--harness-id", "mine", "--tool")
        assert _run(project, capsys, *words, "x")[0] == 0
        code, out, err = _run(project, capsys, *words, "sh")
        told = (
            "nexus-mcp: sh is the only tool of shell_command_exec in mine: without it, whatever the class forbids would"
        )
        assert (code, out, err[: len(told)]) == (1, "", told)

    def test_an_interrupt_while_it_waits(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        """Ctrl-C ends the wait for the lock: nothing is changed."""
        with patch("nexus_mcp.catalog.editing.own.carry_out", side_effect=WaitStopped("lock", "get", "stopped")):
            code, out, err = _run(project, capsys, "add", "no_shell_exec", "--agent", "writer")
        assert (code, out, err) == (130, "", "nexus-mcp: Interrupted; nothing was changed.\n")


SHELL = ("--class", "shell_command_exec")


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("show", "--agent", "enginer"), 1, "There is no agent 'enginer'. Did you mean engineer?"),
        (("show", "--class", "shell"), 1, "There is no class of tools 'shell'; there is file_creation, "),
        (
            ("show", "--json", "--harness-id", "claude"),
            1,
            "There is no capability map of the harness 'claude'; did you mean claude",
        ),
        (("show", "--agent", "writer", *SHELL), 2, "--agent and --class ask for two things: give one of them."),
        (
            ("show", "--harness-id", "codex"),
            2,
            "--harness-id needs --agent, --class or --json: agents have no harness.",
        ),
        (("show", "--class", "file_creation", "--harness-id", "A"), 2, "The harness id 'A'"),
        (("check", "--tool", "Bash", *SHELL), 2, "--tool and --class ask for two things: give one of them."),
        (("check", "--agent", "tester", "--tool", ""), 2, "--tool needs the name of a tool."),
        (("check", "--class", "shell"), 1, "There is no class of tools 'shell'; there is file_creation, "),
        (("add", *SHELL, "--tool", " ", "--harness-id", "codex"), 2, "--tool needs the name of a tool."),
        (
            ("add", "--class", "x", "--tool", "y", "--harness-id", "codex"),
            1,
            "There is no class of tools 'x'; there is ",
        ),
        (
            ("add", *SHELL, "--tool", "x", "--harness-id", "codx"),
            1,
            "There is no capability map of the harness 'codx'; did",
        ),
        (("check", "--agent", "writer"), 2, "--agent needs --tool: whether it may use that."),
        (("check", "--agent", "wrter", "--tool", "x"), 1, "There is no agent 'wrter'. Did you mean writer?"),
        (("add",), 2, "capabilities add takes a capability with --agent, or --class with --tool."),
        (("add", "no_shell_exec"), 2, "capabilities add takes a capability with --agent"),
        (("remove", *SHELL), 2, "capabilities remove takes a capability with --agent"),
        (("add", "no_shell_exec", "--agent", "writer", *SHELL, "--tool", "x"), 2, "capabilities add takes"),
        (("add", "no_shell_exec", "--agent", "writer", "--harness-id", "codex"), 2, "capabilities add takes"),
        (("add", "no_shell", "--agent", "writer"), 1, "There is no capability 'no_shell'; did you mean no_shell_exec?"),
        (("add", "no_shell_exec", "--agent", "wrter"), 1, "There is no agent 'wrter'. Did you mean writer?"),
        (
            ("remove", "no_shell_exec", "--agent", "writer"),
            1,
            "writer does not have no_shell_exec; nothing was changed.",
        ),
        (("add", *SHELL, "--tool", "x"), 2, "--class needs --harness-id: one of claude-code, codex, opencode."),
        (
            ("remove", *SHELL, "--tool", "bsh", "--harness-id", "opencode"),
            1,
            "'bsh' is not of shell_command_exec in opencode; did you mean bash?",
        ),
    ],
)
def test_what_cannot_be_done(
    project: Project, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: int, told: str
) -> None:
    """Bad input: what is wrong, and the near names; nothing is changed."""
    before = project.snapshot()
    found, out, err = _run(project, capsys, *words)
    assert (found, out, err[: len(told) + 11]) == (code, "", f"nexus-mcp: {told}")
    assert project.snapshot() == before


def test_only_a_change_loads_the_editor(project: Project) -> None:
    """ruamel.yaml takes as long to import as all the rest; no other command and no hook does."""
    code = (
        "import sys; from nexus_mcp.cli import main\n"
        f"main(['capabilities', 'show', '--project', {str(project.root)!r}])\n"
        "print({'ruamel.yaml', 'yaml'} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment(), cwd=CHECKOUT
    )
    assert done.stderr.strip() == "set()"
