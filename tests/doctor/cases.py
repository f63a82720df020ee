"""For each finding about a file: a workspace that has it, and its place."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import Any, NamedTuple

from nexus_mcp.doctor import survey
from tests.support import Project, compact, cycle, issue, plan, stamp, task, tasks

MARKED = "<<<<<<< HEAD\n{}\n=======\n[]\n>>>>>>> other\n"
PLAN, TASKS, HISTORY = "state/plan.json", "state/tasks.json", "history.json"
TRACKER, ACCESS = "state/codex/agent-tracker.json", "state/codex/memory-access.jsonl"
BESIDE = "state/codex/agents.extension.jsonl"


class Case(NamedTuple):
    """A fault: `make` breaks a healthy workspace. Doctor then reports `code` at `file` (from .nexus), at `place` in it:
    (line, column, pointer), with None for a part that is not reported.
    """

    code: str
    file: str
    make: Callable[[Project], object]
    place: tuple[int | None, int | None, str | None] = (None, None, None)


def puts_installation(made: Project) -> None:
    """Install for Claude Code with a command that is not there."""
    from nexus_mcp.cli import main

    code = main(
        ["install", "claude-code", "--project", str(made.root), "--with", "server", "--command", "/gone/x", "--force"]
    )
    assert code == 0


def puts_remote_installation(made: Project) -> None:
    """Install for Claude Code with a server over HTTP, whose token is in no variable here."""
    from nexus_mcp.cli import main

    words = ["--with", "server", "--url", "https://nexus.example.org/mcp", "--token-env", "NEXUS_NO_SUCH_TOKEN"]
    assert main(["install", "claude-code", "--project", str(made.root), *words]) == 0


def puts(path: str, content: Any) -> Callable[[Project], object]:
    """Writes one file."""
    return lambda project: project.put(path, content)


def links(path: str, to: str = "/nowhere") -> Callable[[Project], object]:
    def make(project: Project) -> None:
        target = project.nexus / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        target.symlink_to(to)

    return make


def folder(path: str, mode: int = 0o755) -> Callable[[Project], object]:
    def make(project: Project) -> None:
        (project.nexus / path).mkdir(parents=True, exist_ok=True)
        (project.nexus / path).chmod(mode)

    return make


def pipe(path: str) -> Callable[[Project], object]:
    return lambda project: os.mkfifo(project.nexus / path)


def sock(path: str) -> Callable[[Project], object]:
    def make(project: Project) -> None:
        here = os.getcwd()
        os.chdir(project.nexus)  # the path of a socket is short
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path)
        os.chdir(here)

    return make


def sparse(path: str, size: int) -> Callable[[Project], object]:
    return lambda project: os.truncate(project.put(path, ""), size)


def both(*makes: Callable[[Project], object]) -> Callable[[Project], object]:
    return lambda project: [make(project) for make in makes]


def open_to_all(path: str) -> Callable[[Project], object]:
    return lambda project: (project.nexus / path).chmod(0o777)


def nested(levels: int) -> Callable[[Project], object]:
    return folder("/".join(["memory", *["d"] * levels]))


def dated(completed_at: str) -> Any:
    return {"cycles": [cycle(None, at=completed_at)]}


def pairs(*pairs_: tuple[float, list[float]]) -> Any:
    return tasks(*[task(number, deps=deps) for number, deps in pairs_])


TWO = [cycle(plan(1), at=stamp(0)), cycle(plan(2), at=stamp(1))]
LINE = compact({"path": "memory/a.md", "last_accessed_ts": stamp(0), "access_count": 1, "last_agent": "a"}) + "\n"
SAME_TIME = [TWO[0], {**TWO[1], "completed_at": stamp(0)}]
SAME_PLAN = [TWO[0], {**TWO[0], "completed_at": stamp(1)}]
UNNAMED = [TWO[0], {**TWO[1], "branch": ""}]
NO_DAY, FAR = "2026-02-29T00:00:00.000Z", "9999-12-31T23:59:59.999Z"
LATER_LINE = LINE.replace(stamp(0), FAR).replace("a.md", "b.md")
LOG_LINES = '{"version": 2}\n{"version": 1}\n'
NO_ISSUE = both(puts(PLAN, plan()), puts(TASKS, tasks(task(1, plan_issue=2))))
KEPT = "conflict-0123456789abcdef-b.md"
ENTRY = {"harness_id": "codex", "started_at": stamp(0)}

META = "agents/engineer/meta.yml"
SKILL, BODY = "skills/nx-run/meta.yml", "skills/nx-run/body.md"
RUN = "id: nx-run\n"

CASES = (
    Case("link", "memory", links("memory")),
    Case("link", "history.json", links("history.json", "../elsewhere")),
    Case("link", "state/plan.json", links(PLAN)),
    Case("link", "state/claude", links("state/claude", "/etc")),
    Case("link", "state/artifacts/a/b", links("state/artifacts/a/b", "/etc")),
    Case("link", "state/lock", links("state/lock")),
    Case("link", "state/.nexus-tmp-1", links("state/.nexus-tmp-1", "../.gitignore")),
    Case("wrong-kind", PLAN, folder(PLAN)),
    Case("wrong-kind", "history.json", pipe("history.json")),
    Case("wrong-kind", "rules", puts("rules", "text")),
    Case("wrong-kind", "state/artifacts", puts("state/artifacts", "text")),
    Case("wrong-kind", "state/txn.json", sock("state/txn.json")),
    Case("special-file", "state/pipe", pipe("state/pipe")),
    Case("unknown-file", "todo.txt", puts("todo.txt", "text")),
    Case("unknown-file", "state/Upper", folder("state/Upper")),
    Case("unknown-file", "state/plan.json.orig", puts("state/plan.json.orig", "text")),
    Case("not-all-seen", "memory" + "/d" * survey.MAX_DEPTH, nested(survey.MAX_DEPTH)),
    Case("world-writable", "state", open_to_all("state")),
    Case("world-writable", ".gitignore", open_to_all(".gitignore")),
    Case("unparsable", PLAN, puts(PLAN, b""), (None, None, None)),
    Case("unparsable", TASKS, puts(TASKS, '{"goal": "",\n  "tasks": [\x00]}'), (2, 13, None)),
    Case("unparsable", TASKS, puts(TASKS, '{\n "goal": "", "goal": ""}'), (2, 14, None)),
    Case("unparsable", PLAN, puts(PLAN, '{"id": NaN}'), (1, 8, None)),
    Case("unparsable", PLAN, puts(PLAN, "\n" + "[" * 70 + "]" * 70), (2, 65, None)),
    Case("unparsable", PLAN, puts(PLAN, '{"topic": "é, '.encode() + b'caf\xe9"}'), (1, 18, None)),
    Case("unparsable", HISTORY, puts(HISTORY, '{"cycles": [\n{"plan": null},\n{"pl'), (3, 2, None)),
    Case("unparsable", HISTORY, puts(HISTORY, '{"cycles": {}}')),
    Case("unparsable", HISTORY, puts(HISTORY, "[]")),
    Case("unparsable", "state/codex/a.extension.json", puts("state/codex/a.extension.json", "{"), (1, 2, None)),
    Case("conflict-markers", HISTORY, puts(HISTORY, '{"cycles": [\n' + MARKED), (2, None, None)),
    Case("conflict-markers", TASKS, puts(TASKS, MARKED.replace("\n", "\r\n")), (1, None, None)),
    Case("conflict-markers", PLAN, puts(PLAN, "{\n<<<< ours\n====\n>>>> theirs\n}"), (2, None, None)),
    Case("conflict-markers", TRACKER, puts(TRACKER, MARKED), (1, None, None)),
    Case("conflict-markers", "state/tool-log.jsonl", puts("state/tool-log.jsonl", MARKED), (1, None, None)),
    Case("conflict-markers", "memory/a.md", puts("memory/a.md", "# A\n\n" + MARKED), (3, None, None)),
    Case("conflict-markers", ".gitignore", puts(".gitignore", "state/\n" + MARKED), (2, None, None)),
    Case("too-large", TASKS, sparse(TASKS, (64 << 20) + 1)),
    Case("too-large", HISTORY, sparse(HISTORY, 1 << 30)),
    Case("too-large", "state/oplog.jsonl", sparse("state/oplog.jsonl", (8 << 20) + 1)),
    Case("too-large", "memory/a.md", sparse("memory/a.md", (4 << 20) + 1)),
    Case("schema", PLAN, puts(PLAN, plan(issues=[issue(1, "A", "open")])), (8, 17, "/issues/0/status")),
    Case("schema", PLAN, puts(PLAN, "null"), (1, 1, "")),
    Case("schema", TASKS, puts(TASKS, {"goal": "", "decisions": []}), (1, 1, "/tasks")),
    Case("schema", TRACKER, puts(TRACKER, [ENTRY, {"harness_id": "codex"}]), (6, 3, "/1/started_at")),
    Case("schema-odd", PLAN, puts(PLAN, plan(topic="")), (3, 12, "/topic")),
    Case("schema-odd", TASKS, puts(TASKS, tasks(task(1, owner=5))), (11, 16, "/tasks/0/owner")),
    Case("schema-odd", TRACKER, puts(TRACKER, [{**ENTRY, "status": "gone"}]), (5, 15, "/0/status")),
    Case("unknown-field", TASKS, puts(TASKS, {**tasks(), "a/b": 1}), (5, 10, "/a~1b")),
    Case("newer-version", PLAN, puts(PLAN, {**plan(), "schema_version": "1.0", "new": 1}), (13, 21, "/schema_version")),
    Case("newer-version", HISTORY, puts(HISTORY, {"schema_version": "2", "cycles": []}), (2, 21, "/schema_version")),
    Case("bad-line", "state/tool-log.jsonl", puts("state/tool-log.jsonl", '{"a": 1}\n\n[1]\n{"b"'), (3, None, None)),
    Case("bad-line", "state/oplog.jsonl", puts("state/oplog.jsonl", LOG_LINES), (2, None, None)),
    Case("bad-line", ACCESS, puts(ACCESS, LINE + "{}\n"), (2, None, None)),
    Case("bad-line", BESIDE, puts(BESIDE, '\n{"kind":"later"}\n{"kind":"fold","tracker":5}\n'), (3, None, None)),
    Case("wrong-kind", BESIDE, folder(BESIDE)),
    Case("repeated-line", ACCESS, puts(ACCESS, LINE + LINE)),
    Case("not-utf8", "rules/a.md", puts("rules/a.md", "# A\né, ".encode() + b"caf\xe9"), (2, 7, None)),
    Case("old-cycle", HISTORY, puts(HISTORY, {"cycles": UNNAMED}), (25, 17, "/cycles/1/branch")),
    Case("old-cycle", HISTORY, puts(HISTORY, {"cycles": [cycle(plan(0))]}), (8, 15, "/cycles/0/plan/id")),
    Case("old-cycle", HISTORY, puts(HISTORY, {"cycles": [{"plan": None}]}), (3, 5, "/cycles/0/completed_at")),
    Case("conflict-markers", META, puts(META, f"id: engineer\n{MARKED}"), (2, None, None)),
    Case("conflict-markers", BODY, both(puts(SKILL, RUN), puts(BODY, MARKED)), (1, None, None)),
    Case("conflict-markers", "config.yml", puts("config.yml", MARKED), (1, None, None)),
    Case("link", META, links(META)),
    Case("link", "agents/engineer", links("agents/engineer")),
    Case("wrong-kind", META, both(folder("agents/engineer"), pipe(META))),
    Case("wrong-kind", "skills", puts("skills", "text")),
    Case("wrong-kind", "config.yml", folder("config.yml")),
    Case("too-large", "config.yml", sparse("config.yml", (1 << 20) + 1)),
    Case("catalog-fault", META, puts(META, "id: engineer\nmodel_tier: huge\n"), (2, 1, None)),
    Case("catalog-fault", META, puts(META, "id: engineer\ncapabilities: []\n"), (2, 1, None)),
    Case("catalog-fault", META, sparse(META, (64 << 10) + 1)),
    Case("catalog-fault", META, folder("agents/engineer")),
    Case("catalog-fault", BODY, both(puts(SKILL, RUN), puts(BODY, "{{tool}}\n")), (1, 1, None)),
    Case("catalog-fault", "capability-map.yml", puts("capability-map.yml", "codex: [\n"), (2, 1, None)),
    Case("catalog-fault", "capability-map.yml", sparse("capability-map.yml", (2 << 20) + 1)),
    Case("config-fault", "config.yml", puts("config.yml", "memory: 5\n"), (1, 1, None)),
    Case("install-record", "generated.json", puts("generated.json", "{}")),
    Case("command-missing", "generated.json", puts_installation),
    Case("token-missing", "generated.json", puts_remote_installation),
    Case("impossible-time", HISTORY, puts(HISTORY, dated(NO_DAY)), (5, 23, "/cycles/0/completed_at")),
    Case("impossible-time", PLAN, puts(PLAN, plan(created_at=NO_DAY)), (12, 17, "/created_at")),
    Case("impossible-time", TASKS, puts(TASKS, tasks(task(1, created_at=NO_DAY))), (11, 21, "/tasks/0/created_at")),
    Case("impossible-time", TRACKER, puts(TRACKER, [{**ENTRY, "stopped_at": NO_DAY}]), (5, 19, "/0/stopped_at")),
    Case("impossible-time", ACCESS, puts(ACCESS, LINE.replace(stamp(0), NO_DAY)), (1, None, None)),
    Case("future-time", HISTORY, puts(HISTORY, dated(FAR)), (5, 23, "/cycles/0/completed_at")),
    Case(
        "future-time",
        HISTORY,
        puts(HISTORY, {"cycles": [cycle(plan(1, created_at=FAR), at=stamp(0))]}),
        (18, 23, "/cycles/0/plan/created_at"),
    ),
    Case("future-time", ACCESS, puts(ACCESS, LINE + LATER_LINE), (2, None, None)),
    Case("repeated-time", HISTORY, puts(HISTORY, {"cycles": SAME_TIME}), (24, 23, "/cycles/1/completed_at")),
    Case("repeated-plan-id", HISTORY, puts(HISTORY, {"cycles": SAME_PLAN}), (27, 15, "/cycles/1/plan/id")),
    Case("repeated-task-id", TASKS, puts(TASKS, pairs((1, []), (2, []), (1.0, []))), (22, 13, "/tasks/2/id")),
    Case("repeated-issue-id", PLAN, puts(PLAN, plan(issues=[issue(3, "A"), issue(3, "B")])), (11, 13, "/issues/1/id")),
    Case("dependency-cycle", TASKS, puts(TASKS, pairs((1, [2]), (2, [3, 1]), (3, []))), (10, 15, "/tasks/0/deps")),
    Case("dependency-cycle", TASKS, puts(TASKS, pairs((7, [7]))), (10, 15, "/tasks/0/deps")),
    Case("missing-dependency", TASKS, puts(TASKS, pairs((1, [1.5]))), (10, 15, "/tasks/0/deps")),
    Case("missing-issue", TASKS, NO_ISSUE, (11, 21, "/tasks/0/plan_issue")),
    Case("no-plan", TASKS, puts(TASKS, tasks(task(1, plan_issue=1)))),
    Case("kept-aside", "state/conflict-12-plan.json", puts("state/conflict-12-plan.json", MARKED)),
    Case("kept-aside", "state/codex/conflict-agent-tracker.json", puts("state/codex/conflict-agent-tracker.json", "?")),
    Case("kept-aside", f"state/artifacts/a/{KEPT}", puts(f"state/artifacts/a/{KEPT}", "theirs")),
    Case("kept-aside", f"memory/{KEPT}", puts(f"memory/{KEPT}", "theirs")),
    Case("old-tracker", "state/agent-tracker.json", puts("state/agent-tracker.json", "[")),
    Case("foreign-marker", "state/closed-x.json", puts("state/closed-x.json", "{}")),
    Case("journal-newer", "state/txn.json", puts("state/txn.json", {"version": 4})),
    Case("journal-damaged", "state/txn.json", puts("state/txn.json", {"version": 2})),
    Case("journal-damaged", "state/txn.json", puts("state/txn.json", "{")),
    Case("journal-damaged", "state/txn.json", puts("state/txn.json", b"")),
    Case("journal-damaged", "state/txn.json", puts("state/txn.json", bytes(9))),
    Case("journal-damaged", "state/txn.json", sparse("state/txn.json", (512 << 20) + 1)),
    Case("leftover", ".nexus-tmp-0", puts(".nexus-tmp-0", "")),
    Case("leftover", "state/.nexus-tmp-0", puts("state/.nexus-tmp-0", "{")),
    Case("leftover", "state/codex/.nexus-tmp-0", puts("state/codex/.nexus-tmp-0", "")),
    Case("leftover", "state/artifacts/a/b/.nexus-tmp-0", puts("state/artifacts/a/b/.nexus-tmp-0", "")),
    Case("not-ignored", ".gitignore", puts(".gitignore", "*.tmp\n!state/\n# state/\n")),
    Case("not-ignored", ".gitignore", lambda project: (project.nexus / ".gitignore").unlink()),
    Case("ignore-unclear", ".gitignore", puts(".gitignore", "stat[e]/\n")),
    Case("ignore-unclear", ".gitignore", puts(".gitignore", "state/*\n")),
)  # fmt: skip
# Those that take more than a file, and the module that has them.
ELSEWHERE = {
    "unreadable": "test_permissions",
    "unwritable": "test_permissions",
    "read-only": "test_permissions",
    "closed-to-group": "test_permissions",
    "journal-pending": "test_interrupted",
    "unanswered-close": "test_interrupted",
    "lock-held": "test_lock",
    "lock-unusable": "test_lock",
    "busy": "test_concurrent_writers",
    "tracked": "test_git",
    "merge-driver-unregistered": "test_git",
    "merge-driver-broken": "test_git",
    "merge-by-lines": "test_git",
    "no-merge-driver": "test_git",
    "history-unmerged": "test_git",
    "git-not-asked": "test_git",
}
