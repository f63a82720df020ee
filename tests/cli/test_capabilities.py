"""`nexus-mcp capabilities` shows, checks and changes the restrictions of agents."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from nexus_mcp.cli import main
from tests.cli.support import CHECKOUT, environment
from tests.support import Project


def run(project: Project, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["capabilities", words[0], "--project", str(project.root), *words[1:]])
    out, err = capsys.readouterr()
    return code, out, err


class TestShow:
    """`show` changes nothing."""

    def test_list_marks_capabilities_that_the_project_added(
        self, project: Project, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """`list` puts a plus before each capability that the project added."""
        project.put("agents/writer/meta.yml", "id: writer\ncapabilities: [no_task_create, no_shell_exec]\n")
        code, out, err = run(project, capsys, "show")
        assert (code, err) == (0, "")
        assert out.splitlines()[::8] == [
            "architect   no_file_edit no_task_create no_task_update",
            "writer      no_task_create +no_shell_exec",
        ]

    def test_show_agent_lists_forbidden_tools(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        """`show` lists the agent's capabilities and the tools of the harness that they forbid."""
        code, out, _ = run(project, capsys, "show", "--agent", "engineer", "--harness-id", "opencode")
        assert (code, out) == (
            0,
            "no_task_create: Adds no tasks to the list; whoever leads the work does.\n"
            "  opencode: nexus_task_add, *task_add\n",
        )

    def test_show_class_lists_its_tools(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        """Its tools in each harness."""
        code, out, _ = run(project, capsys, "show", "--class", "structured_document_edit")
        assert (code, out) == (
            0,
            "structured_document_edit, blocked by no_file_edit:\n"
            "  claude-code: NotebookEdit\n"
            "  codex: apply_patch\n"
            "  opencode: edit, multiedit, write, apply_patch, patch\n",
        )

    @pytest.mark.parametrize("words", [("--agent", "architect"), ("--class", "file_modification"), ()])
    def test_output_is_wrapped_at_80_columns(
        self, project: Project, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
    ) -> None:
        """No line is wider than 80 characters, and continued lines are indented."""
        code, out, _ = run(project, capsys, "show", *words)
        assert (code, max(map(len, out.splitlines())) <= 80) == (0, True)
        assert ("\n    " in out) is bool(words)

    def test_names_from_nexus_tools_are_shown_with_their_class(
        self, project: Project, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A tool name made from nexus_tools is shown with its class, in text and in JSON."""
        project.put("capability-map.yml", "codex: {nexus_tools: work_nx_*}\n")
        words = ("show", "--class", "nexus_task_creation", "--harness-id", "codex")
        tools = ["mcp__nexus__task_add", "mcp__*__*task_add", "work_nx_task_add"]
        told = f"nexus_task_creation, blocked by no_task_create:\n  codex: {', '.join(tools)}\n"
        assert run(project, capsys, *words) == (0, told, "")
        found = json.loads(run(project, capsys, *words, "--json")[1])
        assert found["classes"] == {"codex": {"nexus_task_creation": tools}}

    def test_show_json_has_what_an_adapter_needs(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        """The JSON form has the tool names that an adapter needs to forbid the tools."""
        words = ("show", "--json", "--agent", "writer", "--class", "shell_command_exec", "--harness-id", "opencode")
        code, out, _ = run(project, capsys, *words)
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
    """`check` answers by its text and its exit code."""

    def test_check_counts_classes_with_a_tool(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        """Every class has a tool in every map."""
        code, out, _ = run(project, capsys, "check")
        assert code == 0
        assert [line.partition(",")[0] for line in out.splitlines()] == [
            f"{harness}: 11 of 11 classes have a tool" for harness in ("claude-code", "codex", "opencode")
        ]
        assert run(project, capsys, "check", "--class", "file_creation", "--harness-id", "codex") == (
            0,
            "codex: 1 of 1 classes have a tool, 3 names in all.\n",
            "",
        )

    def test_missing_class_of_a_map_is_reported_with_its_place(
        self, project: Project, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Bad input: the message has file, line and column, and the consequence."""
        project.put("capability-map.yml", "codex:\n  classes:\n    file_creation: []\n")
        code, out, err = run(project, capsys, "check")
        assert (code, out) == (1, "")
        assert err.splitlines()[0] == (
            "nexus-mcp: .nexus/capability-map.yml:3:5: the class file_creation has no tool, so it forbids nothing; "
            "name at least one tool"
        )

    def test_check_tool_prints_its_classes(self, project: Project, capsys: pytest.CaptureFixture[str]) -> None:
        """Its classes, in each harness."""
        code, out, _ = run(project, capsys, "check", "--tool", "apply_patch\x1b")
        assert (code, out.splitlines()[0]) == (
            0,
            "claude-code: apply_patch\\x1b is in no class. The map does not know it.",
        )
        code, out, _ = run(project, capsys, "check", "--tool", "write_stdin", "--harness-id", "codex")
        assert (code, out) == (0, "codex: write_stdin is in interactive_shell_session.\n")

    def test_check_says_whether_the_agent_may_use_the_tool(
        self, project: Project, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """`check` says whether the agent may use the tool; if not, it names the alternative and exits with 1."""
        words = ("check", "--harness-id", "claude-code", "--tool", "Write", "--agent")
        assert run(project, capsys, *words, "writer") == (0, "claude-code: writer may use Write.\n", "")
        code, out, _ = run(project, capsys, *words, "tester")
        assert (code, out) == (
            1,
            "claude-code: tester may not use Write (no_file_edit: workspace_write_denial). Write down what has to "
            "change, file by file, and hand it to engineer or writer. What you found out yourself may go into an "
            "artifact.\n",
        )

    @pytest.mark.parametrize(
        ("tool", "told"),
        [
            ("Wrte", ". The map does not know it; did you mean Write?"),
            ("Zork", ". The map does not know it."),
            ("mcp__other__thing", ". The map does not know it."),
            ("Read", ". It only reads, and that is never refused."),
            ("mcp__mine__plan_status", ". It only reads, and that is never refused."),
            ("SendMessage", "."),
            ("mcp__mine__read_file", "."),
            ("mcp__nexus__plan_start", "."),
        ],
    )
    def test_tool_without_a_class_is_allowed(
        self, project: Project, capsys: pytest.CaptureFixture[str], tool: str, told: str
    ) -> None:
        """Such a tool is allowed; `check` notes that the tool only reads, or that no entry of the map matches it."""
        words = ("check", "--harness-id", "claude-code", "--tool", tool)
        assert run(project, capsys, *words) == (0, f"claude-code: {tool} is in no class{told}\n", "")
        assert run(project, capsys, *words, "--agent", "tester") == (
            0,
            f"claude-code: tester may use {tool}{told}\n",
            "",
        )


SHELL = ("--class", "shell_command_exec")


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("show", "--agent", "enginer"), 1, 'There is no agent "enginer". Did you mean engineer?'),
        (("show", "--class", "shell"), 1, "There is no class of tools 'shell'; did you mean shell_command_exec?"),
        (
            ("show", "--json", "--harness-id", "claude"),
            1,
            "There is no capability map of the harness 'claude'; did you mean claude",
        ),
        (("show", "--agent", "writer", *SHELL), 2, "Use either --agent or --class, not both."),
        (
            ("show", "--harness-id", "codex"),
            2,
            "--harness-id needs --agent, --class or --json: agents have no harness.",
        ),
        (("show", "--class", "file_creation", "--harness-id", "A"), 2, "The harness id 'A'"),
        (("check", "--tool", "Bash", *SHELL), 2, "Use either --tool or --class, not both."),
        (("check", "--agent", "tester", "--tool", ""), 2, "--tool needs the name of a tool."),
        (("check", "--class", "shell"), 1, "There is no class of tools 'shell'; did you mean shell_command_exec?"),
        (("add", *SHELL, "--tool", " ", "--harness-id", "codex"), 2, "--tool needs the name of a tool."),
        (
            ("add", "--class", "x", "--tool", "y", "--harness-id", "codex"),
            1,
            "There is no class of tools 'x'; choose from ",
        ),
        (
            ("add", *SHELL, "--tool", "x", "--harness-id", "codx"),
            1,
            "There is no capability map of the harness 'codx'; did",
        ),
        (("check", "--agent", "writer"), 2, "--agent needs --tool."),
        (("check", "--agent", "wrter", "--tool", "x"), 1, 'There is no agent "wrter". Did you mean writer?'),
        (("add",), 2, "capabilities add takes a capability with --agent, or --class with --tool."),
        (("add", "no_shell_exec"), 2, "capabilities add takes a capability with --agent"),
        (("remove", *SHELL), 2, "capabilities remove takes a capability with --agent"),
        (("add", "no_shell_exec", "--agent", "writer", *SHELL, "--tool", "x"), 2, "capabilities add takes"),
        (("add", "no_shell_exec", "--agent", "writer", "--harness-id", "codex"), 2, "capabilities add takes"),
        (("add", "no_shell", "--agent", "writer"), 1, "There is no capability 'no_shell'; did you mean no_shell_exec?"),
        (("add", "no_shell_exec", "--agent", "wrter"), 1, 'There is no agent "wrter". Did you mean writer?'),
        (
            ("remove", "no_shell_exec", "--agent", "writer"),
            1,
            "writer does not have no_shell_exec; nothing was changed.",
        ),
        (("add", *SHELL, "--tool", "x"), 2, "--class needs --harness-id: one of claude-code, codex, opencode."),
        (
            ("remove", *SHELL, "--tool", "bsh", "--harness-id", "opencode"),
            1,
            "'bsh' is not in shell_command_exec of opencode; did you mean bash?",
        ),
    ],
)
def test_impossible_capability_changes_are_refused(
    project: Project, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: int, told: str
) -> None:
    """Bad input: the message names the fault and the near names; no file changes."""
    before = project.snapshot()
    found, out, err = run(project, capsys, *words)
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
