"""A harness that hangs, floods, forks, dies, lies in its verdict or reaches for the checkout: no work lost, none merged
unverified.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import psutil
import pytest

from nexus_mcp.run import events as ev
from tests.run.runs import GOOD, Ground, git
from tests.support import Json

ONE: list[Json] = [{"id": 1, "title": "One", "owner": "engineer"}]
needs_bwrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")
WORK = [{"write": "f1", "text": "1\n"}]


def ended(ground: Ground) -> list[ev.ProcessEnded]:
    return [event for event in ground.log() if isinstance(event, ev.ProcessEnded)]


def one(tmp_path: Path, *sessions: list[Json], **more: Any) -> Ground:
    return Ground(tmp_path, ONE, {"1-engineer": [*sessions], **more})


def test_a_session_that_hangs_is_ended_after_its_time(tmp_path: Path) -> None:
    """It ignores SIGTERM and is killed; its work is on its branch; the next attempt completes the task."""
    ground = one(tmp_path, [{"write": "half", "text": "h"}, {"hang": 600}], WORK)
    state = ground.run(session_timeout_s=1)
    assert (state.task(1).state, len(state.task(1).attempts)) == ("completed", 2)
    first = ended(ground)[0]
    assert (first.guard, first.signal) == ("timeout", 9)
    assert ground.tree()["half"] == "h"


def test_a_silent_session_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NEXUS_STALE_ABORT_MS wins over the config; the silence is a failure of the session."""
    monkeypatch.setenv("NEXUS_STALE_WARN_MS", "1000")
    monkeypatch.setenv("NEXUS_STALE_ABORT_MS", "2000")
    ground = one(tmp_path, [{"hang": 600}], WORK)
    assert ground.run().task(1).state == "completed"
    names = [event.name for event in ground.log() if isinstance(event, ev.Guard)]
    assert names == ["stale_warn", "stale_abort"]


def test_background_processes_end_with_their_session(tmp_path: Path) -> None:
    """A background process that holds the output open neither delays the run nor survives the session."""
    ground = one(tmp_path, [{"fork": 600}, *WORK])
    state = ground.run()
    assert state.task(1).state == "completed"
    started = next(event for event in ground.log() if isinstance(event, ev.ProcessStarted))
    left = [process for process in psutil.process_iter() if _group(process.pid) == started.pid]
    assert [one.pid for one in left if one.status() != psutil.STATUS_ZOMBIE] == []


def _group(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0


def test_a_flood_of_output_is_read_to_its_end(tmp_path: Path) -> None:
    """A hundred thousand lines do no harm, and the session counts as any other."""
    ground = one(tmp_path, [{"flood": 100_000}, *WORK])
    assert ground.run().task(1).state == "completed"
    raw = ground.root / ".nexus/state/runs" / ground.run_id / "attempts/1-1/stdout.raw"
    assert raw.stat().st_size < (65 << 20)


ODD_LINES = (
    '{"kind": "usage", "cost_usd": -5}',
    '{"kind": "usage", "cost_usd": NaN}',
    '{"kind": "usage", "cost_usd": 1e999}',
    '{"kind": "usage", "input": "x"}',
    '{"kind": "usage", "input": -5, "output": 1.5}',
    '{"kind": "text", "text": 5}',
    '{"kind": "session", "text": {"a": 1}}',
    '{"kind": "session", "text": "\\ud800"}',
    '{"kind": "tool_start", "text": "Read", "command": 5}',
    '{"kind": "tool_start", "text": ["a"], "file": 3, "is_edit": 1}',
    '{"kind": "tool_start", "text": "a", "arguments": 7, "call": {"a": 1}}',
    '{"kind": "tool_end", "call": [1]}',
    '{"kind": "error", "text": 5}',
    '{"kind": ["x"]}',
    '{"kind": "result", "text": null}',
    "[" * 100_000,
)


def test_malformed_lines_of_a_harness_end_no_run(tmp_path: Path) -> None:
    """Values of a wrong type are dropped, and no line lowers the cost of the run."""
    steps: list[Json] = [{"print": line} for line in ODD_LINES]
    steps += [{"print": '{"kind": "usage", "cost_usd": 0.5}'}, {"write": "f1", "text": "x"}]
    ground = Ground(tmp_path, ONE, {"1": [steps]})
    state = ground.run()
    assert (state.task(1).state, state.cost_usd) == ("completed", 0.5)


@pytest.mark.parametrize("step", [{"kill": 9}, {"kill": 11}, {"exit": 3}, {"no_done": True}])
def test_a_session_that_dies_is_no_success(tmp_path: Path, step: Json) -> None:
    """By a signal, by a code, or silently with exit code 0: another attempt goes on from its work."""
    ground = one(tmp_path, [{"write": "half", "text": "h"}, step], WORK)
    state = ground.run()
    assert [attempt.attempt.outcome.ok for attempt in state.task(1).attempts if attempt.attempt.outcome] == [
        False,
        True,
    ]
    assert ground.tree()["half"] == "h"


def test_a_lying_verdict_does_not_help(tmp_path: Path) -> None:
    """An owner that writes an approval itself, with failing checks: nothing is merged, and no verdict is committed."""
    ground = one(tmp_path, [{"append": "broken", "text": "b"}, {"verdict": GOOD}])
    state = ground.run(mend=0, review={"do": ["tester"]})
    assert state.task(1).state == "failed"
    assert ground.tree() == {"README.md": "x"}
    assert ".nexus-verdict.json" not in git(ground.root, "ls-tree", "-r", "--name-only", f"nexus/{ground.run_id}/1-1")


def test_the_verdict_of_an_owner_is_not_that_of_its_reviewer(tmp_path: Path) -> None:
    """A verdict file that was there before the review is not read as the reviewer's."""
    ground = one(tmp_path, [*WORK, {"verdict": GOOD}], tester=[[{"say": "I say nothing."}]])
    state = ground.run(review={"do": ["tester"]})
    assert (state.task(1).state, "f1" in ground.tree()) == ("paused", False)


def test_a_huge_verdict_is_none(tmp_path: Path) -> None:
    """Fifty megabytes are not read; the review is repeated once, then a person is needed."""
    huge = [{"run": "head -c 50000000 /dev/zero > .nexus-verdict.json"}]
    ground = one(tmp_path, WORK, tester=[huge])
    state = ground.run(review={"do": ["tester"]})
    assert state.task(1).state == "paused"
    assert "larger than the 1 MiB that are read" in state.task(1).reason
    assert not (ground.worktrees / ground.run_id / "1-1/.nexus-verdict.json").exists()


@pytest.mark.parametrize("command", ["mkfifo", "mkdir", "ln -s /etc/hostname"])
def test_a_verdict_that_is_no_file_is_none(tmp_path: Path, command: str) -> None:
    """It is not waited for, and not followed; the review is repeated, and a proper verdict counts."""
    ground = one(tmp_path, WORK, tester=[[{"run": f"{command} .nexus-verdict.json"}], [{"verdict": GOOD}]])
    assert ground.run(review={"do": ["tester"]}).task(1).state == "completed"


def test_a_reviewer_that_edits_changes_nothing(tmp_path: Path) -> None:
    """Its changes are set aside on a branch of their own; its verdict does not count."""
    ground = one(tmp_path, WORK, tester=[[{"write": "f1", "text": "evil"}, {"verdict": GOOD}], [{"verdict": GOOD}]])
    state = ground.run(review={"do": ["tester"]})
    assert state.task(1).state == "completed"
    assert ground.tree()["f1"] == "1"
    assert git(ground.root, "show", f"nexus/{ground.run_id}/1-1-tester:f1") == "evil"


def test_a_link_of_the_worktree_is_no_change_of_its_reviewer(tmp_path: Path) -> None:
    """A linked file that git does not ignore is untracked in the worktree; the verdict counts all the same."""
    ground = one(tmp_path, WORK, tester=[[{"verdict": GOOD}]])
    (ground.root / "settings.local").write_text("x\n")
    assert ground.run(review={"do": ["tester"]}, link=["settings.local"]).task(1).state == "completed"
    assert len(ended(ground)) == 2


def test_an_advisor_that_edits_changes_nothing(tmp_path: Path) -> None:
    """The next attempt gets its advice, and not its files, which are on a branch of their own."""
    bad, advice = [{"write": "broken", "text": "b"}], [{"write": "evil", "text": "e"}, {"say": "Remove it."}]
    ground = one(tmp_path, bad, bad, [{"run": "rm -f broken"}, *WORK], architect=[advice])
    tiers = [{"tier": tier, "attempts": 1} for tier in ("fast", "standard", "high")]
    assert ground.run(tiers=tiers, mend=0).task(1).state == "completed"
    assert "evil" not in ground.tree()
    assert git(ground.root, "show", f"nexus/{ground.run_id}/1-3-architect:evil") == "e"
    brief = ground.root / ".nexus/state/runs" / ground.run_id / "attempts/1-3/brief.md"
    assert "Remove it." in brief.read_text()


REACH = "cd $(git rev-parse --path-format=absolute --git-common-dir)/.. && "


@pytest.mark.parametrize(
    ("command", "part"),
    [
        (f"{REACH} git commit -q --allow-empty -m evil", "refs"),
        ("git -C $(git rev-parse --git-common-dir)/.. checkout -q -b evil", "HEAD"),
        ("git config core.fsmonitor /tmp/evil", "config"),
        ("GIT_DIR=$(git rev-parse --git-common-dir) git tag evil", "refs"),
        (f"{REACH} echo evil > .git/hooks/pre-commit", "hooks"),
        (f"{REACH} echo y > new && git add new", "index"),
        (f"{REACH} echo evil > .git/info/attributes", "info"),
    ],
)
def test_a_change_of_the_checkout_pauses_the_run(tmp_path: Path, command: str, part: str) -> None:
    """Nothing of the session is collected, the part is named, and the message says what to look at."""
    ground = one(tmp_path, [{"run": command}, *WORK])
    state = ground.run()
    assert (state.task(1).state, state.ended.status if state.ended else "") == ("paused", "paused")
    (guard,) = [event for event in ground.log() if isinstance(event, ev.Guard)]
    assert part in str(guard.value)
    assert not [event for event in ground.log() if event.type == "collected"]
    assert "git reflog" in (state.paused or "")


FILTER = (
    'git config --global filter.x.clean "touch %s; cat"; echo "* filter=x" > .gitattributes; '
    'echo "* filter=x" > ../integration/.gitattributes; true'
)


@pytest.mark.parametrize("kind", ["none", pytest.param("bwrap", marks=needs_bwrap)])
@pytest.mark.parametrize("is_there", [True, False])
def test_a_program_in_the_global_configuration_of_git_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, is_there: bool
) -> None:
    """A session names a program that the executor's git would start outside of the sandbox: the run pauses before it
    looks at the work, or the sandbox refuses the change.
    """
    home = tmp_path / "another home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    if is_there:
        (home / ".gitconfig").write_text("[user]\n\tname = B\n")
    ground = one(tmp_path, [{"run": FILTER % (tmp_path / "ran")}, *WORK])
    state = ground.run(sandbox=kind)
    assert not (tmp_path / "ran").exists()
    is_refused = kind == "bwrap" and is_there
    assert state.task(1).state == ("completed" if is_refused else "paused")
    assert ("git configuration of your account" in (state.paused or "")) is not is_refused


@needs_bwrap
def test_bubblewrap_protects_the_other_worktrees(tmp_path: Path) -> None:
    """A file in the worktree of the integration branch could make the checks of the merged work pass."""
    reach = "echo evil > ../integration/evil; echo evil > ../2-1/evil; true"
    script: dict[str, Json] = {
        "1": [[{"run": reach}, *WORK]],
        "2": [[{"run": "sleep 1"}, {"write": "f2", "text": "2"}]],
    }
    ground = Ground(tmp_path, [*ONE, {"id": 2, "title": "Two"}], script)
    state = ground.run(sandbox="bwrap", jobs=2)
    assert [state.task(id_).state for id_ in (1, 2)] == ["completed", "completed"]
    assert not list(ground.worktrees.rglob("evil"))
    assert "evil" not in ground.tree()


def test_a_forged_integration_branch_is_not_built_upon(tmp_path: Path) -> None:
    """A commit that an attempt put there by update-ref pauses the run, and is never merged further."""
    forge = "git update-ref refs/heads/nexus/$NEXUS_RUN/integration $(git commit-tree -m evil HEAD^{tree} -p HEAD)"
    ground = one(tmp_path, [*WORK, {"run": forge}])
    state = ground.run()
    assert state.task(1).state == "paused"
    assert "integration branch" in state.task(1).reason
    assert not [event for event in ground.log() if event.type == "merged"]


@needs_bwrap
@pytest.mark.parametrize("command", [f"{REACH} git commit -q --allow-empty -m evil", f"{REACH} echo evil > README.md"])
def test_bubblewrap_makes_the_checkout_read_only(tmp_path: Path, command: str) -> None:
    """The commands fail, the checkout stays, and the work in the worktree is done."""
    ground = one(tmp_path, [{"run": command}, *WORK])
    head = git(ground.root, "rev-parse", "HEAD")
    state = ground.run(sandbox="bwrap")
    assert state.task(1).state == "completed"
    assert git(ground.root, "rev-parse", "HEAD") == head
    assert (ground.root / "README.md").read_text() == "x\n"
    assert ground.tree()["f1"] == "1"


def test_secrets_of_the_environment_are_in_no_file_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever prints them: the session, its stderr, a check, a verdict."""
    secret = "s3cr3t-value-of-a-key"
    monkeypatch.setenv("SOME_API_KEY", secret)
    leak = [{"say": f"the key is {secret}"}, {"run": "echo $SOME_API_KEY >&2"}, *WORK]
    bad = {**GOOD, "approved": False, "reasoning": f"I saw {secret}"}
    ground = one(tmp_path, leak, tester=[[{"verdict": bad}], [{"verdict": GOOD}]])
    state = ground.run(review={"do": ["tester"]}, checks={"test": "echo $SOME_API_KEY; test ! -e broken"})
    assert state.task(1).state == "completed"
    files = [path for path in (ground.root / ".nexus/state").rglob("*") if path.is_file()]
    assert [path.name for path in files if secret.encode() in path.read_bytes()] == []
    assert any(b"[SOME_API_KEY]" in path.read_bytes() for path in files)


def test_a_lost_lease_throws_the_result_away(tmp_path: Path) -> None:
    """A worktree whose lease has a newer fence belongs to another attempt: nothing is collected from it."""
    newer = 'echo \'{"run": "\'$NEXUS_RUN\'", "fence": 999}\' > $(git rev-parse --absolute-git-dir)/nexus-lease'
    ground = one(tmp_path, [*WORK, {"run": newer}])
    state = ground.run()
    assert state.task(1).state == "paused"
    assert "another attempt" in state.task(1).reason
    assert not [event for event in ground.log() if event.type == "collected"]
