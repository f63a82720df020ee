"""Every kind of finding: how bad it is, what it means, and the one safe thing to do about it.

docs/doctor.md has the same table; a test compares the two.
"""

from __future__ import annotations

from typing import NamedTuple

from nexus_mcp.store.journal import DAMAGED_ADVICE

ERROR = "error"
WARNING = "warning"
NOTE = "note"
SEVERITIES = (ERROR, WARNING, NOTE)
"""The worst first. An error keeps calls from working; a note needs nobody to do anything."""


class Code(NamedTuple):
    """`next_step` is what a finding says unless it knows better."""

    severity: str
    meaning: str
    next_step: str


_LOOK_AND_MOVE = "Look at what was put there and why; move it away yourself if it is not needed."
_MEND = "Mend the file or put a copy of it back; until then no call changes it."
_SWEPT = "Nothing: the next change that is made there removes it, or keeps it as a copy where it is somebody's save."
_MERGE = "Decide in an editor which of the two sides is right."
_GIT = "Run nexus-mcp doctor where git can be used on this repository."

CODES = {
    # Files and folders
    "link": Code(ERROR, "A symbolic link at or below `.nexus/`. It is refused, also for reading.", _LOOK_AND_MOVE),
    "wrong-kind": Code(ERROR, "A folder or a special file where a file belongs, or the reverse.", _LOOK_AND_MOVE),
    "special-file": Code(WARNING, "A FIFO, a socket or a device in a place of no meaning.", _LOOK_AND_MOVE),
    "unknown-file": Code(
        NOTE, "A file or folder that nothing of nexus-mcp knows or reads.", "Nothing, if you know what it is for."
    ),
    "not-all-seen": Code(
        WARNING,
        "There is more, or it lies deeper, than is looked at: 100 000 files and folders, 40 levels.",
        "Find out what fills the folder.",
    ),
    "unreadable": Code(
        ERROR, "A file or folder that cannot be read or searched.", "Give yourself the permission to read it."
    ),
    "unwritable": Code(
        ERROR,
        "A folder in which we may make no file, or a file that is written in place and that we may not write.",
        "Give yourself the permission to write to it.",
    ),
    "read-only": Code(
        NOTE,
        "A file without permission to write. It is replaced all the same, and keeps its permissions.",
        "Nothing; if it was to be protected, this does not do it.",
    ),
    "world-writable": Code(
        WARNING,
        "Every user of this machine may change the file, or the folder.",
        "Take the permission to write away from others.",
    ),
    "closed-to-group": Code(
        WARNING,
        "In a folder that a group shares (it has the setgid bit), a file or folder that the group cannot use.",
        "Let its owner give the folder's group access to it (chgrp, chmod g+rw; chmod g+rwxs for a folder).",
    ),
    # What is in the files
    "unparsable": Code(ERROR, "A file that is not the JSON that is accepted here. It is never overwritten.", _MEND),
    "conflict-markers": Code(ERROR, "Git left both sides of a merge in the file.", _MERGE),
    "too-large": Code(ERROR, "A file larger than what is read of its kind.", "Find out what made it grow."),
    "schema": Code(
        ERROR, "Something that every reader relies on is missing or of the wrong kind. Calls refuse the file.", _MEND
    ),
    "schema-odd": Code(
        WARNING,
        "A value that the schema does not allow, but that readers get along with.",
        "Look at what wrote it; the value is kept as it is.",
    ),
    "unknown-field": Code(
        NOTE, "A field that the schema does not know. It is kept.", "Nothing; perhaps a newer harness wrote it."
    ),
    "newer-version": Code(
        WARNING,
        "The file is of a newer major schema version. It is read, never written.",
        "Update nexus-mcp, or use the tool that wrote the file.",
    ),
    "bad-line": Code(
        WARNING,
        "Lines of a JSONL file that are not what they should be. Readers pass over them.",
        "Look at the line that is named; it may also stay.",
    ),
    "repeated-line": Code(
        NOTE, "Several lines of memory-access.jsonl about the same note.", "Nothing; their counts belong together."
    ),
    "not-utf8": Code(WARNING, "A text that is not UTF-8.", "Save it again as UTF-8."),
    "old-cycle": Code(
        WARNING,
        "A cycle in history.json that breaks the schema beyond the known shapes of old versions. It is kept.",
        "Compare it with what git has of the file; it stands in nobody's way.",
    ),
    "catalog-fault": Code(
        ERROR,
        "An agent, a skill or the capability map of the project cannot be used, or is larger than what is read. The "
        "agent may do nothing that can be forbidden meanwhile; of skill and map the shipped one holds.",
        "Mend it; nexus-mcp catalog check tells whether it can be used then.",
    ),
    "config-fault": Code(
        ERROR,
        "`config.yml` cannot be used. Nothing that needs it is done.",
        "Mend it; under memory: may stand propose: and delete_unasked:, each with days_unread, max_access_count and "
        "min_age_days.",
    ),
    # What the files mean
    "repeated-task-id": Code(
        WARNING,
        "Two tasks with one id. Calls that name the id mean the first.",
        "Give the later one an id of its own while no server is running.",
    ),
    "repeated-issue-id": Code(
        WARNING,
        "Two issues of the plan with one id. Calls that name the id mean the first.",
        "Give the later one an id of its own while no server is running.",
    ),
    "dependency-cycle": Code(
        WARNING,
        "Tasks that wait for each other, or for themselves. None of them becomes ready.",
        "Decide which of them does not have to wait, and complete that one first.",
    ),
    "missing-dependency": Code(
        WARNING,
        "A task that waits for one that is not there. It does not become ready.",
        "Add the task that is missing, or start this one without waiting for it.",
    ),
    "missing-issue": Code(
        WARNING,
        "A task whose plan issue is not in the plan.",
        "See with plan_status which issue is meant; the task can be worked on all the same.",
    ),
    "no-plan": Code(NOTE, "Tasks that name a plan issue while no plan is open.", "Nothing; they can be worked on."),
    "repeated-plan-id": Code(
        NOTE, "Plans in the history that have the same id, as after a merge.", "Nothing: new plans get higher ids."
    ),
    "repeated-time": Code(
        WARNING,
        "Cycles in the history with the same completed_at, which is to tell them apart.",
        "Compare them; git log of the file tells where each came from.",
    ),
    "impossible-time": Code(
        WARNING,
        "A date or time that no calendar and no clock has, such as the 45th day of a month. It is kept.",
        "Look at what wrote it; git log tells that of a file in git. No call depends on it.",
    ),
    "future-time": Code(
        WARNING,
        "A time that is more than 5 minutes ahead of the clock of this machine. It is kept.",
        "Look at what wrote it, and at the clock there and here. New cycles get the time of the clock all the same.",
    ),
    # What was begun
    "journal-pending": Code(
        WARNING,
        "A change was recorded and then interrupted. It is safe.",
        "Make any call, context for example: that completes it first.",
    ),
    "journal-newer": Code(
        ERROR,
        "A change was begun by a newer nexus-mcp that this one does not understand.",
        "Complete it with the newer nexus-mcp that began it.",
    ),
    "journal-damaged": Code(
        ERROR,
        "What a change was to be completed from cannot be used. Every call is refused, and some of it may be lost.",
        DAMAGED_ADVICE,
    ),
    "leftover": Code(WARNING, "A temporary file of a process that was interrupted.", _SWEPT),
    "unanswered-close": Code(
        WARNING,
        "A close that was carried out, but whose answer its client never got.",
        "Nothing: the next task_close that finds nothing open answers with it; a change of plan or tasks drops it.",
    ),
    "foreign-marker": Code(
        NOTE, "A file named like the record of an unanswered close that is none. It is left alone.", _LOOK_AND_MOVE
    ),
    "kept-aside": Code(
        WARNING,
        "What another program saved in a file while a change replaced it, or a file that could not be used.",
        "Compare it with the file of that name beside it, take over what is missing there, then move the copy away.",
    ),
    "old-tracker": Code(
        NOTE,
        "agent-tracker.json in `state/`, where old versions had it. Nothing reads it.",
        "Nothing, or move it away.",
    ),
    "lock-held": Code(
        WARNING,
        "One process held the lock for as long as was looked. Other calls wait 10 seconds and then fail.",
        "Look at what the process is doing; the lock is free when it ends.",
    ),
    "lock-unusable": Code(
        ERROR,
        "The file system refuses to lock, or the lock is no plain file. Nothing can be written.",
        "Put the project on a file system that has locks, usually a local one.",
    ),
    "busy": Code(
        NOTE,
        "Others were writing all the time. Only what several looks found is told.",
        "Nothing, or look again when they are done.",
    ),
    # Git
    "not-ignored": Code(
        WARNING,
        "Git does not ignore the session files.",
        "Add the line state/ to .nexus/.gitignore; nexus-mcp init makes the file when there is none.",
    ),
    "ignore-unclear": Code(
        NOTE, "Without git nobody can say whether the rules of `.nexus/.gitignore` leave out `state/`.", _GIT
    ),
    "tracked": Code(
        WARNING,
        "Session files are in git's index, and go to everybody who clones.",
        "Take it out of the index without deleting it (git rm --cached), and commit that.",
    ),
    "history-unmerged": Code(
        WARNING,
        "Git has a conflict of the history, which can be read. Cycles of a side may be missing in it.",
        "Run nexus-mcp history repair --dry-run: it tells what is missing. Then git add the file.",
    ),
    "merge-driver-unregistered": Code(
        WARNING,
        "Git is told to merge the history by a driver that is not registered in this clone.",
        "Run nexus-mcp init --git-merge.",
    ),
    "merge-driver-broken": Code(
        WARNING,
        "The program of the registered merge driver is not there.",
        "Run nexus-mcp init --git-merge with the installation that is to merge.",
    ),
    "merge-by-lines": Code(
        WARNING,
        "Git is told to keep the lines of both sides of the history, which makes a file that cannot be read.",
        "Take merge=union for the history out of the attributes; nexus-mcp init --git-merge merges by cycles.",
    ),
    "no-merge-driver": Code(
        NOTE,
        "The history is in git, and two branches that both closed a cycle will conflict.",
        "Run nexus-mcp init --git-merge: git then keeps the cycles of both branches.",
    ),
    "git-not-asked": Code(NOTE, "There is a repository, but git could not be asked about it.", _GIT),
}
