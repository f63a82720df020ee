"""What a target did wrong beside its answers, and the words for it."""

from __future__ import annotations

_SHOWN = 60
_LOOKED_AT = 1 << 16


class TargetTrouble(Exception):
    """The target gave no answer, or did what it may not do. `who` says what of it that was; the text goes on there."""

    def __init__(self, did: str, who: str = "the target") -> None:
        super().__init__(did)
        self.who = who

    @property
    def sentence(self) -> str:
        """The whole, as in "the target exited with code 3"."""
        return f"{self.who} {self}"


class TimeRanOut(TargetTrouble):
    """The target may still be thinking, but nobody waits any longer."""


def garbage(line: bytes) -> str:
    """The trouble with a line of stdout that is no message; shows at most 60 printable characters of it."""
    if not line.strip():
        return "printed a blank line to stdout, where only JSON-RPC messages may stand"
    text = line[:_LOOKED_AT].decode("utf-8", "replace").strip()
    shown = "".join(char if char.isprintable() else "·" for char in text[:_SHOWN])
    cut = "…" if len(text) > _SHOWN else ""
    return f'printed a line to stdout that is no JSON-RPC message: "{shown}{cut}"'


def innermost(error: BaseException) -> BaseException:
    """The first single error in a group of groups."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def first_line(text: str, limit: int = 300) -> str:
    """The first line of a text that is not blank, printable and cut."""
    text = text[:_LOOKED_AT]
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    shown = "".join(char if char.isprintable() else "·" for char in line[:limit])
    return shown + ("…" if len(line) > limit else "")


def last_line(text: str) -> str:
    """The last line of a text that is not blank, printable and cut."""
    return first_line("\n".join(reversed(text[-_LOOKED_AT:].splitlines())))
