"""Map suite and planted fault to the piece of the quick form that detects the fault, unless the first piece does.

The runner begins with that piece. If it does not detect the fault, the other pieces follow: a wrong number only costs
time.
"""

from __future__ import annotations

NOTICED_BY: dict[str, dict[str, int]] = {
    "errnos": {
        "fsync-passed-over": 1,
        "fsync-again": 1,
        "write-passed-over": 1,
        "lock-or-not": 1,
        "unreadable-is-absent": 4,
        "made-and-left": 1,
        "receipt-presumed-held": 7,
        "noted-early": 1,
    },
    "kills": {
        "no-lock": 5,
        "late-lock": 8,
    },
    "powercut": {
        "note-unsynced": 7,
        "no-sync-afterwards": 2,
        "forgotten-unsynced": 6,
        "in-place": 5,
        "unlink-before-archive": 3,
        "no-journal": 4,
        "unconfirmed-journal": 3,
        "unconfirmed-beginning": 2,
        "unconfirmed-history": 4,
        "copied-unsynced": 3,
    },
    "linearizable": {
        "late-lock": 1,
        "recovers-unlocked": 1,
        "no-recovery": 2,
        "answer-forgotten": 2,
        "answer-kept": 2,
        "redone": 2,
    },
    "model": {
        "wrong-order": 11,
        "no-recovery": 8,
        "overwrites-foreign": 12,
        "known-by-size": 6,
        "always-settled": 6,
        "apart-presumed": 6,
        "prefix-believed": 6,
        "index-unchecked": 10,
        "texts-unchecked": 10,
        "remembered-for-ever": 6,
        "has-by-time": 8,
        "copied-blindly": 9,
        "noted-early": 16,
    },
    "files": {
        "history-begun-anew": 2,
        "last-member-counts": 3,
        "nan-is-a-number": 8,
        "history-laid-out-anew": 2,
        "newer-is-written": 8,
        "journal-believed": 11,
        "journal-passed-over": 5,
    },
    "frames": {
        "no-line-limit": 2,
    },
    "editors": {
        "told-by-times": 28,
        "placed-over": 8,
    },
    "hostile": {
        "no-deadline": 7,
        "late-is-allowed": 7,
        "unread-is-absent": 7,
        "beyond-is-skipped": 2,
    },
    "sessions": {
        "counted-twice": 1,
    },
    "http": {
        "host-presumed": 1,
        "no-deadlines": 2,
        "no-share": 3,
    },
    "runs": {
        "run-unlocked": 1,
        "torn-line-joined": 2,
    },
}
