"""The tests of a mount over HTTP that are the same in each client; test_CLIENT_remote.py gives them the client."""

from __future__ import annotations

import pytest

from tests.e2e.remote_run import ARTIFACT, EARLY, LATE, REFUSED, TEXT, TOPIC, WRONG, RemoteRun


class RemoteTests:
    """A session with the token of the server, and one with a wrong token: see remote_run."""

    editing: str
    """The tool that writes a file."""
    reading: str
    """The tool that reads a resource."""

    @pytest.mark.shows("remote")
    def test_call_arrives_at_the_server(self, remote: RemoteRun) -> None:
        """The model gets the plan of the server's project, and its task is there, not in the project of the client."""
        seen = remote.seen("BEGIN-REMOTE")
        assert seen.results("plan_status")[0].value["topic"] == TOPIC
        assert [task["title"] for task in remote.there.state("state/tasks.json")["tasks"]] == ["Store links"]
        assert remote.client.scratch.state("state/tasks.json") is None

    @pytest.mark.shows("remote")
    def test_session_gets_the_context_of_the_server(self, remote: RemoteRun) -> None:
        """The hook at the start of the session says that the server's project has a plan."""
        assert f'plan 1, topic "{TOPIC}", 1 of 1 issues pending' in remote.seen("BEGIN-REMOTE").text

    @pytest.mark.shows("remote")
    def test_edit_without_a_task_is_refused_by_the_server(self, remote: RemoteRun) -> None:
        """The hook refuses an edit while the server's plan has no tasks, and names the file as the project has it."""
        early, late, *_ = remote.seen("BEGIN-REMOTE").results(self.editing)  # artifact_write ends with write, too
        assert "There is no task list" in early.text
        assert f'would change "{EARLY}"' in early.text
        assert "There is no task list" not in late.text
        root = remote.client.scratch.root
        assert ((root / EARLY).exists(), (root / LATE).exists()) == (False, True)

    @pytest.mark.shows("remote")
    def test_use_of_a_tool_is_in_the_log_of_the_server(self, remote: RemoteRun) -> None:
        """The tool log of the server's project names the file by its path in the project."""
        log = (remote.there.root / ".nexus/state/tool-log.jsonl").read_text(encoding="utf-8")
        assert f'"file":"{LATE}"' in log

    @pytest.mark.shows("remote")
    def test_artifact_is_read_as_a_resource(self, remote: RemoteRun) -> None:
        """The model reads an artifact of the server, which is no file of its own machine."""
        (found,) = remote.seen("BEGIN-REMOTE").results(self.reading)
        assert TEXT.strip() in found.text
        assert not (remote.client.scratch.root / ".nexus/state/artifacts" / ARTIFACT).exists()

    @pytest.mark.shows("remote")
    def test_wrong_token_refuses_edits_and_says_why(self, remote: RemoteRun) -> None:
        """With a wrong token no file is changed, and the message for the model names the variable."""
        (refused,) = remote.seen("BEGIN-WRONG").results(self.editing)
        assert "refuses the token in NEXUS_TOKEN" in refused.text
        assert not (remote.client.scratch.root / REFUSED).exists()

    @pytest.mark.shows("remote")
    def test_no_file_has_a_token(self, remote: RemoteRun) -> None:
        """After the sessions no file of the project or the user's home has a token."""
        contents = [data for files in remote.kept["files"] for data in files.values()]
        assert [data for data in contents if remote.token.encode() in data or WRONG.encode() in data] == []

    @pytest.mark.shows("remote")
    def test_installation_is_listed_as_answering(self, remote: RemoteRun) -> None:
        """`install --list` says that the server answers, and --check finds no difference."""
        assert "agents, skills; the server answers" in remote.kept["listed"]
        assert "Everything is installed as it should be." in remote.kept["checked"]
