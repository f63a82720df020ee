"""What a prompt is: plain data about its arguments, and the functions that write its text and complete arguments."""

from __future__ import annotations

from nexus_mcp.quoting import fenced, inert

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from nexus_mcp.server.resources.definition import Look


class Given(dict[str, str]):
    """The arguments that have a value. `is_cut` says that the user's own words may be only the first of them."""

    __slots__ = ("is_cut",)

    def __init__(self, values: dict[str, str], *, is_cut: bool = False) -> None:
        super().__init__(values)
        self.is_cut = is_cut


def _no_words(_look: Look) -> Iterable[str]:
    return ()


def _any(_value: str) -> bool:
    return True


class Argument:
    """One argument of a prompt. `words` are the values that it can have, those that are wanted most first.

    `fits` says whether a value is one at all.
    """

    __slots__ = ("description", "fits", "name", "required", "title", "words")

    def __init__(
        self,
        name: str,
        title: str,
        description: str,
        words: Callable[[Look], Iterable[str]] = _no_words,
        *,
        fits: Callable[[str], bool] = _any,
        required: bool = False,
    ) -> None:
        self.name = name
        self.fits = fits
        self.title = title
        self.description = description
        self.words = words
        self.required = required

    def definition(self) -> dict[str, Any]:
        """As MCP's PromptArgument."""
        return {"name": self.name, "title": self.title, "description": self.description, "required": self.required}


class Prompt:
    """One prompt. The last of its `arguments` is for words of the user's own.

    `title` and `description` may come from a file of the project: they are made inert (quoting.py).
    `text(look, given)` gets what `settled` makes of the arguments that were given, the required ones with a value. It
    raises Wrong for a value that cannot be, and NexusError.
    """

    __slots__ = ("arguments", "description", "name", "text", "title")

    def __init__(
        self,
        name: str,
        *,
        title: str,
        description: str,
        arguments: tuple[Argument, ...],
        text: Callable[[Look, Given], str],
    ) -> None:
        self.name = name
        self.title = inert(title.strip())
        self.description = inert(description.strip())
        self.arguments = arguments
        self.text = text

    def definition(self) -> dict[str, Any]:
        """As MCP's Prompt."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "arguments": [argument.definition() for argument in self.arguments],
        }

    def settled(self, given: dict[str, str]) -> Given:
        """The arguments that have a value. One that does not fit is taken for the beginning of the user's own words.

        Claude Code cuts what was typed behind a command at the blanks, and gives each argument one of the pieces:
        `/mcp__nexus__plan add a login` has the mode "add". So where each has one word, more may have been typed.
        """
        *chosen, own = self.arguments
        values = {name: value.strip() for name, value in given.items() if value.strip()}
        kept = {one.name: values[one.name] for one in chosen if one.name in values and one.fits(values[one.name])}
        words = [values[one.name] for one in self.arguments if one.name in values and one.name not in kept]
        is_cut = (
            bool(chosen) and len(values) == len(self.arguments) and all(len(v.split()) == 1 for v in values.values())
        )
        return Given({**kept, own.name: " ".join(words)} if words else kept, is_cut=is_cut)


class Wrong(Exception):
    """An argument that cannot be used; the text says which, and what can be."""


def own_words(title: str, text: str) -> str:
    """What the user said, to the letter, in a fence below a title.

    Claude Code shows the command as well, and that has all of it.
    """
    note = "The command that was typed, where it is shown, has the user's words in full; here may be only the first."
    return f"{title}\n\n{fenced(text)}\n\n({note})"
