"""The questions that a run can ask a person: the moment of each, its answers, and its fallback. Pure.

ROWS has a row for each trigger; EFFECTS says what each answer does. Names and fallbacks are those of nax, another
program that runs agents (escalation specification v0.10.1). A trigger asks only if `questions.triggers` sets it to
true.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nexus_mcp.run.config import Questions, Trigger

Answer = Literal["continue", "retry", "skip", "escalate", "abort"]

EFFECTS: dict[Answer, str] = {
    "continue": "the run continues as if the trigger were off",
    "retry": "the task gets new attempts, as by `run retry`",
    "skip": "the task is left out, as by `run skip`",
    "escalate": "the task pauses for a person; the other tasks go on",
    "abort": "the task fails; the other tasks go on",
}
"""Effect of an answer on a task. RUN_EFFECTS has the effects on the whole run."""

RUN_EFFECTS: dict[Answer, str] = {
    "continue": "the run continues; cost-exceeded raises each reached limit to the used amount plus the limit",
    "escalate": "the run pauses",
    "abort": "the run ends as at a reached limit",
}

_TASK: tuple[Answer, ...] = ("continue", "retry", "skip", "escalate", "abort")
_END: tuple[Answer, ...] = ("retry", "skip", "escalate", "abort")
"""The answers if the task would fail or pause without the question: then `continue` has no meaning."""


@dataclass(frozen=True, slots=True)
class Row:
    """One trigger. `when` is the moment of its question, `fallback` the answer if no person answers in time.

    `answers` are the accepted words. `takes_text`: any other text goes into the author's session. `is_of_run`: the
    question concerns the whole run, not one task.
    """

    when: str
    answers: tuple[Answer, ...]
    fallback: Answer
    takes_text: bool = True
    is_of_run: bool = False


ROWS: dict[Trigger, Row] = {
    "security-review": Row(
        "before the merge of work that changes files of secrets or permissions, or in which a reviewer found a security"
        " fault",
        _TASK,
        "abort",
    ),
    "cost-exceeded": Row(
        "before the next step, when a limit of cost, time or attempts is reached",
        ("continue", "abort"),
        "abort",
        takes_text=False,
        is_of_run=True,
    ),
    "merge-conflict": Row(
        "when a merge into the integration branch conflicts, before the author resolves it", _TASK, "abort"
    ),
    "cost-warning": Row(
        "once in a run, before the next step, when the share `cost_warning` of the cost limit is spent",
        ("continue", "escalate", "abort"),
        "escalate",
        takes_text=False,
        is_of_run=True,
    ),
    "max-retries": Row("when the attempts of all tiers are used up, before the task fails or pauses", _END, "skip"),
    "pre-merge": Row("before each merge of verified work into the integration branch", _TASK, "escalate"),
    "human-review": Row(
        "when a task would pause because a person has to judge it, unless max-retries asks", _END, "skip"
    ),
    "story-ambiguity": Row("when an agent is blocked and asks", ("continue",), "continue"),
    "review-gate": Row("when the reviewers accepted the work, before the merge", _TASK, "continue"),
}

_NO = ("no", "n")
_WORDS: dict[str, Answer] = {
    **dict.fromkeys(("continue", "yes", "y", "ok", "approve", "go on"), "continue"),
    "retry": "retry",
    "skip": "skip",
    **dict.fromkeys(("escalate", "pause", *_NO), "escalate"),
    **dict.fromkeys(("abort", "stop"), "abort"),
}


def read(trigger: Trigger, text: str) -> Answer | None:
    """Return the answer that a text means; None for a text that goes into the session.

    If the trigger does not accept a word or a text, return `escalate`, or `abort` if it does not accept `escalate`.
    """
    if trigger == "story-ambiguity":  # a word such as `skip` may be the answer to the agent's question
        return None
    row, word = ROWS[trigger], _word(text)
    found = _WORDS.get(word)
    if found in row.answers:
        return found
    if found is None and word and row.takes_text:
        return None
    return "escalate" if "escalate" in row.answers else "abort"


def fault(trigger: Trigger, text: str) -> str:
    """Return a sentence that says which answers are accepted; "" if the trigger accepts the text."""
    word = _word(text)
    if not word and trigger == "story-ambiguity":
        return "Write a text for the agent."
    is_known = word in _NO or _WORDS.get(word) in ROWS[trigger].answers
    if is_known or trigger == "story-ambiguity" or read(trigger, text) is None:
        return ""
    return f"Its answers are {_list_answers(ROWS[trigger])}."


def fallback(trigger: Trigger, questions: Questions) -> Answer:
    """Return the answer after a timeout: `questions.fallback` if the trigger accepts it, else the trigger's own."""
    row, chosen = ROWS[trigger], questions.fallback
    return chosen if chosen is not None and chosen in row.answers else row.fallback


def question_text(trigger: Trigger, text: str) -> str:
    """Return the text of a question with its accepted answers."""
    return f"{text} Answer {_list_answers(ROWS[trigger])}."


def _word(text: str) -> str:
    return " ".join(text.split()).rstrip(".!").casefold()


def _list_answers(row: Row) -> str:
    names = [*row.answers, *(("a text for the session",) if row.takes_text else ())]
    return f"{', '.join(names[:-1])} or {names[-1]}"
