"""The table of finding codes: severity, meaning and one safe next step each.

docs/doctor.md has the same table; a test compares the two.
"""

from __future__ import annotations

from typing import NamedTuple

from nexus_mcp.store.journal import DAMAGED_ADVICE

ERROR = "error"
WARNING = "warning"
NOTE = "note"
SEVERITIES = (ERROR, WARNING, NOTE)
"""The worst first. An error makes calls fail or a file unusable; a note needs no action."""


class Code(NamedTuple):
    """One kind of finding. `next_step` applies unless a finding brings its own advice."""

    severity: str
    meaning: str
    next_step: str


_INSPECT = "Find out what created it. If you do not need it, move it away."
_REPAIR = "Repair the file or restore a copy of it. Until then every call that would change it fails."
_AUTOMATIC = "Nothing. The next change in this folder removes it, or keeps another program's data as conflict-..."
_MERGE = "Open the file in an editor, keep the right side of each conflict, and remove the markers."
_GIT = "Run nexus-mcp doctor where git works on this repository."

CODES = {
    # Files and folders
    "link": Code(ERROR, "A symbolic link below `.nexus/`. nexus-mcp does not read or write through it.", _INSPECT),
    "wrong-kind": Code(
        ERROR, "A folder or a special file in place of a file, or a file in place of a folder.", _INSPECT
    ),
    "special-file": Code(WARNING, "A FIFO, a socket or a device in a place that nexus-mcp does not use.", _INSPECT),
    "unknown-file": Code(NOTE, "A file or folder that nexus-mcp does not use.", "Nothing, if you know what it is for."),
    "not-all-seen": Code(
        WARNING,
        "A limit of doctor was reached: 100 000 files and folders, 40 levels, 500 000 lines. The rest was not checked.",
        "Find out which program creates so many files.",
    ),
    "unreadable": Code(
        ERROR, "A file or folder that you cannot read or search.", "Give yourself permission to read it."
    ),
    "unwritable": Code(
        ERROR,
        "A folder in which you cannot create files, or a file that is written in place and that you cannot write.",
        "Give yourself permission to write to it.",
    ),
    "read-only": Code(
        NOTE,
        "A file without write permission. nexus-mcp still replaces it, and the new file has the same permissions.",
        "Nothing. Note that the missing permission does not protect the file.",
    ),
    "world-writable": Code(
        WARNING,
        "Every user of this machine can change the file or folder.",
        "Remove the write permission of other users (chmod o-w).",
    ),
    "closed-to-group": Code(
        WARNING,
        "A file or folder that the group cannot use, in a folder that is shared with the group (setgid bit).",
        "Ask its owner to give the folder's group access (chgrp, chmod g+rw; chmod g+rwxs for a folder).",
    ),
    # Content of files
    "unparsable": Code(ERROR, "A file that is not valid JSON for nexus-mcp. It is never overwritten.", _REPAIR),
    "conflict-markers": Code(ERROR, "A git merge left conflict markers in the file.", _MERGE),
    "too-large": Code(ERROR, "A file larger than the limit for its kind.", "Find out why the file is so large."),
    "schema": Code(ERROR, "A required field is missing or has the wrong type. Calls refuse the file.", _REPAIR),
    "schema-odd": Code(
        WARNING,
        "A value that breaks the schema, but that calls can still read.",
        "Find out which program wrote it. nexus-mcp keeps the value as it is.",
    ),
    "unknown-field": Code(
        NOTE, "A field that is not in the schema. nexus-mcp keeps it.", "Nothing. A newer harness may have written it."
    ),
    "newer-version": Code(
        WARNING,
        "The file has a newer major schema version. nexus-mcp reads it, but does not write it.",
        "Update nexus-mcp, or use the program that wrote the file.",
    ),
    "bad-line": Code(
        WARNING,
        "Malformed lines in a JSONL file. Readers skip them.",
        "Look at the line named above. You may also leave it.",
    ),
    "repeated-line": Code(
        NOTE, "Several lines of memory-access.jsonl for the same note.", "Nothing. nexus-mcp adds up their counts."
    ),
    "not-utf8": Code(WARNING, "A text file that is not UTF-8.", "Save it as UTF-8."),
    "old-cycle": Code(
        WARNING,
        "A cycle in history.json that breaks the schema and has none of the known shapes of old versions. nexus-mcp "
        "keeps it.",
        "Compare it with the file in git. The cycle does not block any call.",
    ),
    "catalog-fault": Code(
        ERROR,
        "An agent, a skill or the capability map of the project is invalid or too large. Such an agent gets every "
        "restriction. For a skill or the map nexus-mcp uses the shipped one.",
        "Correct the file, then run nexus-mcp catalog check.",
    ),
    "config-fault": Code(
        ERROR,
        "`config.yml` is invalid. Actions that need it fail.",
        "Correct it. Under memory:, propose: and delete_unasked: each take days_unread, max_access_count and "
        "min_age_days.",
    ),
    "install-record": Code(
        WARNING,
        "`generated.json`, the record of `nexus-mcp install`, cannot be used.",
        "Restore it from git, or move it away: all installed entries and files then count as yours.",
    ),
    "command-missing": Code(
        WARNING,
        "A harness is set up to start a nexus-mcp that is not there. Its hooks then allow everything; the plugin of "
        "OpenCode denies every tool.",
        "Run nexus-mcp install for that harness again.",
    ),
    "token-missing": Code(
        NOTE,
        "A harness is set up for a server over HTTP, but the variable with the token is not set here.",
        "Set it where you start the harness: the harness and its hooks read it when they start.",
    ),
    # References between files, and times
    "repeated-task-id": Code(
        WARNING,
        "Two tasks with the same id. Calls use the first one.",
        "Stop all servers, then give the later task a new id.",
    ),
    "repeated-issue-id": Code(
        WARNING,
        "Two issues of the plan with the same id. Calls use the first one.",
        "Stop all servers, then give the later issue a new id.",
    ),
    "dependency-cycle": Code(
        WARNING,
        "Tasks that depend on each other in a cycle, or a task that depends on itself. None of them becomes ready.",
        "Choose the task of the cycle that can be done first, and complete it first.",
    ),
    "missing-dependency": Code(
        WARNING,
        "A task that depends on a task that does not exist. It does not become ready.",
        "Add the missing task, or start this task anyway.",
    ),
    "missing-issue": Code(
        WARNING,
        "A task that names an issue that is not in the plan.",
        "Check the issue ids with plan_status. You can work on the task anyway.",
    ),
    "no-plan": Code(NOTE, "Tasks name issues of a plan, but no plan is open.", "Nothing. You can work on the tasks."),
    "repeated-plan-id": Code(
        NOTE,
        "Several plans in the history have the same id, for example after a merge.",
        "Nothing. New plans get higher ids.",
    ),
    "repeated-time": Code(
        WARNING,
        "Cycles in the history with the same completed_at, which should be unique.",
        "Compare the cycles. git log of the file shows the commit that added each.",
    ),
    "impossible-time": Code(
        WARNING,
        "A date or time that does not exist, such as the 45th day of a month. nexus-mcp keeps it.",
        "Find out which program wrote it, for a file in git with git log. No call depends on it.",
    ),
    "future-time": Code(
        WARNING,
        "A time more than 5 minutes ahead of the clock of this machine. nexus-mcp keeps it.",
        "Check the clock of this machine and of the machine that wrote it. New cycles still get the current time.",
    ),
    # Interrupted changes
    "journal-pending": Code(
        WARNING,
        "A change was recorded and then interrupted. No data is lost.",
        "Make any call, for example context. It completes the change first.",
    ),
    "journal-newer": Code(
        ERROR,
        "A newer nexus-mcp began a change in a format that this version does not understand.",
        "Make a call with the newer nexus-mcp: it completes the change.",
    ),
    "journal-damaged": Code(
        ERROR,
        "The record of an interrupted change is damaged. Every call fails, and part of the change may be lost.",
        DAMAGED_ADVICE,
    ),
    "leftover": Code(WARNING, "A temporary file of an interrupted process.", _AUTOMATIC),
    "unanswered-close": Code(
        WARNING,
        "A completed task_close whose response did not reach the client.",
        "Nothing. The next task_close with nothing open returns this response. A change of plan or tasks discards it.",
    ),
    "foreign-marker": Code(
        NOTE, "A file named like the receipt of a close, but with other content. nexus-mcp ignores it.", _INSPECT
    ),
    "kept-aside": Code(
        WARNING,
        "A copy of a file that another program changed during a call, or of a file that could not be used.",
        "Compare it with the original in the same folder, copy missing content into it, then move the copy away.",
    ),
    "old-tracker": Code(
        NOTE,
        "agent-tracker.json directly in `state/`, where old versions kept it. nexus-mcp does not read it.",
        "Nothing. You can move it away.",
    ),
    "lock-held": Code(
        WARNING,
        "One process held the lock during the whole check. Other calls wait 10 seconds for the lock, then fail.",
        "Look at what the process is doing. The lock is free when the process ends.",
    ),
    "lock-unusable": Code(
        ERROR,
        "The file system does not support locks, or the lock is not a regular file. Calls that write fail.",
        "Move the project to a file system with locks, usually a local one.",
    ),
    "busy": Code(
        NOTE,
        "Other processes were writing during every pass. The report has only the findings that every pass had.",
        "Nothing, or run doctor again when they are done.",
    ),
    # Git
    "not-ignored": Code(
        WARNING,
        "Git does not ignore the files in `state/`.",
        "Add the line state/ to .nexus/.gitignore. If there is no such file, run nexus-mcp init.",
    ),
    "ignore-unclear": Code(
        NOTE,
        "Only git can decide whether the rules of `.nexus/.gitignore` exclude `state/`, and git gave no answer.",
        _GIT,
    ),
    "tracked": Code(
        WARNING,
        "Git tracks files in `state/`. Every clone gets them.",
        "Stop tracking it without deleting it (git rm --cached), then commit.",
    ),
    "history-unmerged": Code(
        WARNING,
        "Git has an unresolved conflict for history.json. The file is readable, but cycles of one side may be missing.",
        "Run nexus-mcp history repair --dry-run to see the missing cycles. Then git add the file.",
    ),
    "merge-driver-unregistered": Code(
        WARNING,
        "The git attributes name a merge driver for history.json that is not registered in this clone.",
        "Run nexus-mcp init --git-merge.",
    ),
    "merge-driver-broken": Code(
        WARNING,
        "The registered merge driver names a program that does not exist.",
        "Run nexus-mcp init --git-merge with the installation that should merge.",
    ),
    "merge-by-lines": Code(
        WARNING,
        "The git attributes set merge=union for history.json, which produces an unreadable file.",
        "Remove merge=union for history.json from the attributes, then run nexus-mcp init --git-merge.",
    ),
    "no-merge-driver": Code(
        NOTE,
        "history.json is in git without a merge driver. Two branches that both close a cycle will conflict.",
        "Run nexus-mcp init --git-merge. Git then keeps the cycles of both branches.",
    ),
    "git-not-asked": Code(NOTE, "There is a repository, but git did not answer.", _GIT),
}
