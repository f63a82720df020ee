"""Placeholders of a text that knows no harness, e.g. `{{tool:plan_decide}}` or `{{action:ask_user}}`."""

from __future__ import annotations

from itertools import islice

from nexus_mcp import program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

TOOLS = (
    "plan_start",
    "plan_status",
    "plan_update",
    "plan_decide",
    "task_add",
    "task_list",
    "task_update",
    "task_close",
    "history_search",
    "context",
    "artifact_write",
)
"""The tools of the contract, §3; a test holds them to nexus_mcp/tools/, which is above."""

OF_A_HARNESS = ("brief", "resume")
"""The commands whose answer depends on the harness."""

COMMANDS = (*OF_A_HARNESS, "act", "doctor", "init")
"""The commands that a text may name; a test holds them to nexus_mcp/cli/, which is above."""

OPEN, CLOSE = "{{", "}}"
_SEARCHED = 50  # names
_COMPARED, _APART = 64, 8  # characters


def found(text: str) -> Iterator[tuple[int, int, str, str]]:
    """(start, end, kind, id) of each; kind and id are "" for one that is not `{{kind:id}}`."""
    at = text.find(OPEN)
    while at >= 0:
        close = text.find(CLOSE, at)
        end = len(text) if close < 0 else close + len(CLOSE)
        inside = text[at + len(OPEN) : close] if close >= 0 else ""
        kind, colon, name = inside.partition(":")
        good = bool(colon) and _is_word(kind) and _is_word(name)
        yield (at, end, kind, name) if good else (at, end, "", "")
        at = text.find(OPEN, end)


def command(name: str, harness_id: str) -> str:
    """The words that run a command of nexus-mcp here; one that depends on the harness would answer for none else."""
    return program.command(f"{name} --harness-id {harness_id}" if name in OF_A_HARNESS else name)


def faults(
    text: str, known: Mapping[str, Mapping[str, object] | tuple[str, ...]]
) -> Iterator[tuple[int, Callable[[], str]]]:
    """(offset, what tells what is wrong) for each placeholder that is none, or whose kind or id is not known."""
    for start, _, kind, name in found(text):
        if not kind:
            yield start, lambda: "a placeholder is {{kind:id}}, e.g. {{tool:plan_decide}}"
        elif kind not in known:
            yield start, _no_kind(kind, known)
        elif name not in known[kind]:
            yield start, _unknown(kind, name, known[kind])


def resolved(text: str, words: Mapping[str, Callable[[str], str]]) -> str:
    """The text with each placeholder replaced by what `words` says for its kind and id; others stay."""
    parts, done = [], 0
    for start, end, kind, name in found(text):
        if kind in words:
            parts += [text[done:start], words[kind](name)]
            done = end
    return "".join([*parts, text[done:]])


def suggestion(name: str, known: Mapping[str, object] | tuple[str, ...]) -> str:
    """`; did you mean x?` for the nearest of the known names, or ""."""
    close = near(name, known)
    return f"; did you mean {' or '.join(close)}?" if close else ""


def near(name: str, known: Mapping[str, object] | tuple[str, ...]) -> list[str]:
    """The known names that are nearest to this one, three at most, of the first few of about its length.

    Comparing two names takes time in proportion to the square of their lengths, and a project may have chosen both.
    """
    from difflib import get_close_matches

    if len(name) > _COMPARED:
        return []
    alike = (one for one in known if abs(len(one) - len(name)) <= _APART)
    return get_close_matches(name, list(islice(alike, _SEARCHED)), n=3, cutoff=0.7)


def _no_kind(kind: str, known: Mapping[str, object]) -> Callable[[], str]:
    return lambda: f"{kind!r} is no kind of placeholder; there are {', '.join(known)}"


def _unknown(kind: str, name: str, known: Mapping[str, object] | tuple[str, ...]) -> Callable[[], str]:
    return lambda: f"there is no {kind} {name!r}{suggestion(name, known)}"


def _is_word(text: str) -> bool:
    return bool(text) and text[0].isalpha() and text.replace("-", "").replace("_", "").isalnum() and text.isascii()
