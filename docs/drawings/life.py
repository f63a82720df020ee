"""Draw the life of one session: each hook and each tool call, and the answer of nexus-mcp."""

from __future__ import annotations

from docs.drawings.sessions import Seen
from docs.drawings.svg import Picture, width_of

LOOKS = {"continue": "plain", "allow": "done", "block": "denied", "deny": "denied"}
"""Decision of a hook → the kind of its box."""
_WIDTH, _ANSWER, _EXCERPT = 760, 346, 430
_LINES = 2


def life_of_a_session(seen: list[Seen]) -> str:
    """Return a picture with a row for each step: what happens, the hook or the tool, and the answer."""
    row, top = 46, 44
    bottom = top + row * len(seen)
    picture = Picture(
        _WIDTH,
        bottom + 12,
        "The life of one session",
        "Each row is an event of the session, the hook or tool that is called, and the answer.",
    )
    for x, title in ((4, "in the session"), (190, "hook or tool"), (_ANSWER, "the answer of nexus-mcp")):
        picture.text(x, 14, title, bold=True)
    picture.line(((174, top - 12), (174, bottom)), width=2)
    for number, one in enumerate(seen):
        y = top + row * number + row / 2 - 8
        picture.text(4, y, one.step.what)
        picture.dot(174, y, "done" if one.step.is_tool else "ready")
        picture.label(190, y - 13, 142, 26, "done" if one.step.is_tool else "ready", lines=[one.step.event])
        _answer(picture, y, one)
    return picture.render()


def excerpt(seen: Seen) -> str:
    """Return the part of the answer that is shown, as it is in the answer. Raises ValueError when it is not there."""
    if not seen.step.show:
        return ""
    text = "\n".join(str(seen.answer.get(name, "")) for name in ("reason", "context"))
    for line in text.splitlines():
        if line.startswith(seen.step.show):
            return line.removeprefix("- ")
    raise ValueError(f"{seen.step.event}: no line of the answer begins with {seen.step.show!r}")


def _answer(picture: Picture, y: float, seen: Seen) -> None:
    if seen.step.is_tool:
        picture.text(_ANSWER, y, _fields(seen), size=12)
        return
    decision = str(seen.answer["decision"])
    width = width_of(decision, 12) + 14
    picture.label(_ANSWER, y - 10, width, 20, LOOKS[decision], lines=[decision])
    lines = _wrapped(excerpt(seen))
    for number, line in enumerate(lines):
        picture.text(_EXCERPT, y + 15 * (number - (len(lines) - 1) / 2), line, size=12, colour="soft")


def _fields(seen: Seen) -> str:
    """Return the short fields of an answer of a tool."""
    values = {**seen.answer, **seen.answer.get("task", {}), **seen.answer.get("archived", {})}
    shown = {"plan_id": "plan", "issueCount": "issues", "id": "task", "status": "", "total_cycles": "cycles"}
    return ", ".join(f"{words} {values[name]}".strip() for name, words in shown.items() if name in values)


def _wrapped(text: str) -> list[str]:
    """Return the text in at most two lines; … stands for the rest."""
    lines = [""]
    for word in text.split():
        room = _WIDTH - _EXCERPT - (width_of(" …", 12) if len(lines) == _LINES else 0)
        if width_of(f"{lines[-1]} {word}", 12) <= room:
            lines[-1] = f"{lines[-1]} {word}".strip()
        elif len(lines) < _LINES:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} …"
            break
    return [line for line in lines if line]
