"""Mutants that may survive, with the reason: no promise covers the change, or no single server in memory shows it."""

from __future__ import annotations

import re

from tests.mutation.accepted_events import ACCEPTED_EVENTS

_PROSE = "the wording of a message that the contract leaves to us"
_SAME = "the result is the same"
_HINT = "the contract leaves the answers and warnings of events to us; tests/lifecycle checks them"
_CRASH = "only a crash reaches this code; the fixtures with a kill need a process"
_GUARD = "a guard against faults of our own, which no call reaches"
_ROWS = "a change of one row while the server runs; tests/store/session/test_reading.py compares it with a whole read"
_LOG = "the text of the operation log is ours; tests/store/test_oplog.py checks it"
_TWO = "2.0 and 2 are one number in JSON"
_MORE = "stricter than the contract; tests/tools/test_artifact_write.py checks it"

# The events of an agent, and the end of a session.
_AGENTS = "lifecycle/(agent_.*|session_end)"

# Module, or module:function; a pattern that the whole change matches; the reason.
ACCEPTED: tuple[tuple[str, str, str], ...] = (
    ("tools/plan_start", r"0 -> -1", _SAME),
    ("tools/.*", r"1 -> [20]|'minLength' left out of .*filename.*|'minLength' left out of .*[Rr]elative.*", _SAME),
    ("tools/plan_update", r"'enum' left out of .*|'(title|status)' left out of \{'(title|status)'.*", _GUARD),
    ("tools/(plan_decide|task_update)", r".* left out of \{'status'.*", _GUARD),
    ("tools/task_close", r".*now\.(plan|tasks) is .*|return earlier -> return None", _CRASH),
    ("tools/task_close", r"'s' -> 'sX'|len\(closed_tasks\) != 1 .*|now\.what \+= .* left out", _LOG),
    (
        "tools/history_search",
        r"True -> False|'default' left out of .*",
        "the advertised schema, and zip's own check",
    ),
    ("tools/context", r"raise left out", _CRASH),
    ("tools/arguments", r"100 -> \d+|.*(len\(unknown\)|\*more).*", _PROSE),
    ("tools/arguments", r"60 -> \d+|len\(name\) <= _SHOWN_NAME -> .*", _PROSE),
    ("tools/arguments", r"raise _Unfit\(f'must be an integer of at most.* left out|len\(digits\) <= .*", _SAME),
    ("state/artifact_name", r"\(?(847|\d{4,})\b.*|'(Cs|Zl|Zp|conin\$|conout\$|clock\$)' left out .*", _MORE),
    (
        "state/artifact_name",
        r".*_TAGS\[.*|[01] -> .*|\(part\.startswith\(temp.*|lowered\.split.*rstrip\(\).*",
        _MORE,
    ),
    ("state/artifact_name", r"\((part ==|part in|not part\.strip).*|'\.+' left out .*|part\.strip\(\) -> part", _SAME),
    ("state/artifact_name", r"return '(is.*)?' -> return None|'filename.*|'replace' -> .*", _PROSE),
    ("state/artifact_name", r"return parts -> return None", _SAME),
    ("state/history", r"0 -> -?1|number is not None and .*", "for an id that is in no file of the contract"),
    ("state/shapes", r"[05] -> .*|fault\.pointer or .*|len\(found\) .*", _PROSE),
    ("state/shapes", r"'(issue|task)' -> .*|raise ValueError.* left out", _GUARD),
    ("state/shapes", r".*('plan_issue'|'deps'|is_integer).*", _TWO),
    ("state/shapes", r"_spell_ids\(\[good\].* left out|good left out .*|schema == TASKS -> .*|1 -> 2", _TWO),
    ("state/shapes", r"(if not )?all\(map\(row\(.*|return rows -> return None", _ROWS),
    ("state/shapes", r"\*\*part\(name\) left out .*|check_new\(fields, _optional_part.* left out", _GUARD),
    ("state/shapes", r"any\(\(isinstance\(item.*|len\(out\) < .*", _SAME),
    ("state/shapes", r"isinstance\((value|item|member), .* -> .*", _SAME),
    ("state/shapes", r".*(schemas\.(readable_)?faults|\*\*value|'goal'|'plan|'tasks|plan is None|False).*", _CRASH),
    (
        "state/times",
        r"return .*|(seconds|moment|used|following|stamp)\b.*|for stamp in taken .*|(0|-1) -> .*",
        "two closes in one millisecond, or a clock outside its years; tests/store/history/test_free_time.py looks",
    ),
    ("state/times", r"\d+ -> \d+", "less than a second, which no assertion on a clock can detect"),
    ("state/tracker", r"5 -> .*|fault\.pointer or .*|len\(found\) .*|seen > 0 -> .*|0 -> -1", _PROSE),
    ("state/tracker", r"_NAMED \+ 1 -> .*|1 -> [02]|'and more' .*|\*(found\[:_NAMED\]|more) left out .*", _PROSE),
    (
        "state/tracker:filter_usable",
        r".*",
        "malformed entries beside those of other sessions; tests/lifecycle/test_sessions.py checks them",
    ),
    (
        _AGENTS,
        r".*(warn|bad|owner|'s'|name is|name or|name and|'agent_name'|f'The files|own|left|tasks|kept).*",
        _HINT,
    ),
    (
        _AGENTS,
        r"'(agent_id|resumed|completed|made|deleted)' left out .*|.*files_touched.*|n (not )?in told.*",
        _HINT,
    ),
    (
        _AGENTS,
        r"(True|False) -> (True|False)|.*entr(y|ies) is .*|return \{'agent_id'.*|tracker\.find.*|1 -> .*",
        _HINT,
    ),
    ("lifecycle/sources", r".*(_COPIES|_NAMED|conflict|copies|list_ids|select_).*", _HINT),
    (
        "lifecycle/definition",
        r"(raise|'the params|value if|value left|return False -> return None).*",
        "it is refused nevertheless, by an exception",
    ),
    (".*", r"for .* in \(.* -> for .* in \(.*", "only the order of an object's fields"),
    *ACCEPTED_EVENTS,
)


def is_about(row: tuple[str, str, str], module: str, change: str, function: str = "") -> bool:
    """Return whether a row explains this change."""
    where, what, _ = row
    places = (module, f"{module}:{function}")
    return any(re.fullmatch(where, place) for place in places) and re.fullmatch(what, change) is not None


def reason(module: str, change: str, function: str = "") -> str:
    """Return why a mutant may survive, "" when it may not."""
    return next((row[2] for row in ACCEPTED if is_about(row, module, change, function)), "")
