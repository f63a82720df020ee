"""The differences between this contract and the upstream server, and how a failed fixture shows one.

The reason of a fixture is the first rule that fits what the run showed: the first failed assertion that tells more than
that an error is plain text, and the call that it is about.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

PLAIN_TEXT = "errors are plain text without a payload"
NO_PAYLOAD = "the answer has no JSON payload"

UNSTRUCTURED = "answers are indented text without structuredContent"
NO_CONTEXT = "there is no tool `context`"
ADD_DEMANDS = "task_add demands acceptance and an owner object"
START_DEMANDS = "plan_start demands a research_summary that is not blank"
CLOSE_DEMANDS = "task_close demands completed tasks, or force"
DECIDED_ONCE = "plan_decide refuses a decided issue"
NO_ADVICE = "plan_decide takes no advice"
MODIFY = "plan_update calls edit modify"
EMPTY_BRANCH = "the branch of a detached head is empty"
ARCHIVE = "plan_start archives without schema_version"
HISTORY_ANEW = "history.json is laid out anew with every cycle"
NO_GITIGNORE = "no .gitignore is written"
RELATIVE = "artifact_write answers with a relative path"
NAMES = "artifact_write accepts or cleans up names"
UNKNOWN = "unknown parameters are ignored"
NULL = "null does not stand for an absent parameter"
LIST_TEXT = "a list in JSON text is refused"
COERCED = "other values than numbers are taken for ids and counts"
ANY_TEXT = "blank texts and NUL are accepted"
LINKS = "links are followed"
NEWER = "files of a newer major version are written"
BYTE_ORDER_MARK = "a file with a byte order mark counts as absent"
ABSENT = "a broken file counts as absent"
ANY_SHAPE = "a file of any shape is used"
FOLDERS = "a refused call leaves an empty .nexus/state"
LISTED = "tools are listed otherwise"
OWN_WORDS = "error messages are worded otherwise"


class Rule(NamedTuple):
    """A difference, and regular expressions that are searched; "" fits everything.

    `seen` is the place and the message of the failed assertion, `asked` the tool, `answer` the JSON text of what it
    answered, `test_id` the fixture.
    """

    difference: str
    seen: str = ""
    asked: str = ""
    answer: str = ""
    test_id: str = ""


REFUSAL = "the call must fail, and it did not"
MEMBERS = r"must have exactly the members|is missing|must be"
NOTHING = r'^\{"exists": false\}|"total": 0,|^\{"created": true, "plan_id": 1, .*"previousArchived": false\}'

RULES = (
    Rule(NO_CONTEXT, "has no tool nx_context"),
    Rule(LISTED, asked="^list_tools$"),
    Rule(UNKNOWN, test_id="unknown_param|task_list_takes_no_parameters|no_parameters$"),
    Rule(CLOSE_DEMANDS, "Cannot close: tasks|^the call must fail", "task_close", test_id="^(?!history_broken)"),
    Rule(OWN_WORDS, r'must contain "[^"]+ (is|are) required[^"]*", is "'),
    Rule(ADD_DEMANDS, "Required at acceptance|at owner", "task_add"),
    Rule(NULL, "received null at|Number must be greater than 0", test_id="null"),
    Rule(START_DEMANDS, "is required — complete research", "plan_start"),
    Rule(LIST_TEXT, "must not fail: .*Expected array, received string"),
    Rule(DECIDED_ONCE, "must not fail: .*reopen", "plan_decide"),
    Rule(NO_ADVICE, REFUSAL, "plan_decide", test_id="refuses_(advice|agents)"),
    Rule(MODIFY, "must not fail: .*Invalid enum value.*received 'edit'", "plan_update"),
    Rule(LINKS, REFUSAL, test_id="link"),
    # Values.
    Rule(NAMES, REFUSAL, "artifact_write", test_id="^(?!.*nul_in)"),
    Rule(NAMES, "must be as before, but this changed", "artifact_write"),
    Rule(RELATIVE, r"^\$\.path: must be", "artifact_write"),
    Rule(ANY_TEXT, REFUSAL, test_id="blank_|_nul(_|$)|no_text"),
    Rule(COERCED, REFUSAL, test_id="no_id|no_integer"),
    # Files.
    Rule(NEWER, REFUSAL, test_id="newer_major"),
    Rule(BYTE_ORDER_MARK, test_id="byte_order_mark"),
    Rule(BYTE_ORDER_MARK, "must not fail: .*(No active plan|Task [0-9]+ not found)", test_id="members|order"),
    Rule(ABSENT, REFUSAL, answer=NOTHING),
    Rule(ABSENT, r'must contain "\S+json", is "(No active plan|Task [0-9]+ not found)'),
    Rule(ABSENT, REFUSAL, "task_close", test_id="^history_broken"),
    Rule(ANY_SHAPE, REFUSAL, "plan_status|task_list|history_search"),
    Rule(ANY_SHAPE, REFUSAL, test_id="plan_start_refuses_an_unusable_plan"),
    Rule(FOLDERS, "this changed: .nexus, .nexus/state$"),
    Rule(NO_GITIGNORE, "^.nexus/.gitignore: must be there"),
    Rule(EMPTY_BRANCH, 'branch: must be "HEAD", is ""'),
    Rule(HISTORY_ANEW, "^.nexus/history.json text", test_id="bytes"),
    Rule(ARCHIVE, "^.nexus/history.json", "plan_start"),
    Rule(OWN_WORDS, '^the message must contain "'),
    # Answers.
    Rule(PLAIN_TEXT, "in the whole result", test_id="_fails$"),
    Rule(UNSTRUCTURED, "in the whole result"),
    *(
        Rule(f"{tool} answers with other fields", rf"^\$\S*: ({MEMBERS})", tool)
        for tool in ("plan_status", "plan_update", "plan_decide", "task_list", "task_close", "history_search")
    ),
    Rule(PLAIN_TEXT, NO_PAYLOAD),
)
DIFFERENCES = tuple(dict.fromkeys(rule.difference for rule in RULES))


def difference(result: dict[str, Any]) -> str | None:
    """The difference that a failed fixture of result.json shows, None when no rule fits."""
    failed = [assertion for assertion in result["assertions"] if not assertion["passed"]]
    telling = next((one for one in failed if NO_PAYLOAD not in one["message"]), failed[0])
    exchanges = [one for one in result["exchanges"] if one["step"] == telling["step"]] or result["exchanges"][-1:]
    return next((rule.difference for rule in RULES if _fits(rule, result, telling, exchanges)), None)


def _fits(rule: Rule, result: dict[str, Any], assertion: dict[str, Any], exchanges: list[dict[str, Any]]) -> bool:
    place = " ".join(part for part in (assertion["file"], assertion["path"]) if part)
    seen = f"{place}: {assertion['message']}" if place else assertion["message"]
    last: dict[str, Any] = exchanges[-1] if exchanges else {"asked": "", "answer": None}
    looked_at = (
        (rule.seen, seen),
        (rule.asked, last["asked"]),
        (rule.answer, json.dumps(last["answer"])),
        (rule.test_id, result["test_id"]),
    )
    return all(re.search(pattern, text) for pattern, text in looked_at)
