"""The classes Prompt and Argument: plain data, and the functions that write the text and complete arguments."""

from __future__ import annotations

from nexus_mcp.quoting import fenced, inert

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from nexus_mcp.server.resources.definition import ReadContext


class Arguments(dict[str, str]):
    """The arguments that have a value. `is_cut`: the client may have dropped the end of the user's text."""

    __slots__ = ("is_cut",)

    def __init__(self, values: dict[str, str], *, is_cut: bool = False) -> None:
        super().__init__(values)
        self.is_cut = is_cut


class Argument:
    """One argument of a prompt. `words` lists its possible values, most likely ones first; `fits` tests a value."""

    __slots__ = ("description", "fits", "name", "required", "title", "words")

    def __init__(
        self,
        name: str,
        title: str,
        description: str,
        words: Callable[[ReadContext], Iterable[str]] = lambda _ctx: (),
        *,
        fits: Callable[[str], bool] = lambda _value: True,
        required: bool = False,
    ) -> None:
        self.name = name
        self.fits = fits
        self.title = title
        self.description = description
        self.words = words
        self.required = required

    def definition(self) -> dict[str, Any]:
        """Return MCP's PromptArgument."""
        return {"name": self.name, "title": self.title, "description": self.description, "required": self.required}


class Prompt:
    """One prompt. The last of its `arguments` takes free text of the user.

    `title` and `description` may come from a file of the project, so they are made inert (quoting.py).
    `text(ctx, arguments)` gets the result of `assign_arguments`, with every required argument. It raises Wrong for an
    invalid value, and NexusError. `template(ctx, values)` gets the placeholders of templates.py instead.
    """

    __slots__ = ("arguments", "description", "name", "template", "text", "title")

    def __init__(
        self,
        name: str,
        *,
        title: str,
        description: str,
        arguments: tuple[Argument, ...],
        text: Callable[[ReadContext, Arguments], str],
        template: Callable[[ReadContext, dict[str, str]], str],
    ) -> None:
        self.name = name
        self.template = template
        self.title = inert(title.strip())
        self.description = inert(description.strip())
        self.arguments = arguments
        self.text = text

    def definition(self) -> dict[str, Any]:
        """Return MCP's Prompt."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "arguments": [argument.definition() for argument in self.arguments],
        }

    def assign_arguments(self, values: dict[str, str]) -> Arguments:
        """Return the arguments that have a value. A value that does not fit becomes the start of the user's text.

        Claude Code splits the text behind a command at blanks and passes one word per argument:
        `/mcp__nexus__plan add a login` has the mode "add". So when each argument has one word, `is_cut` is set.
        Other clients pass the whole line as one argument. `_split_line` then splits off its first word if that fits.
        """
        *chosen, own = self.arguments
        values = _split_line({name: value.strip() for name, value in values.items() if value.strip()}, chosen, own)
        kept = {one.name: values[one.name] for one in chosen if one.name in values and one.fits(values[one.name])}
        words = [values[one.name] for one in self.arguments if one.name in values and one.name not in kept]
        is_cut = (
            bool(chosen) and len(values) == len(self.arguments) and all(len(v.split()) == 1 for v in values.values())
        )
        return Arguments({**kept, own.name: " ".join(words)} if words else kept, is_cut=is_cut)


def _split_line(values: dict[str, str], chosen: list[Argument], own: Argument) -> dict[str, str]:
    """Return the values. Split a single value of several words if its first word fits its argument: the other words
    become the free text.

    A value of the argument for free text, `own`, stays whole, unless its first word fits a required argument.
    """
    if len(values) != 1:
        return values
    ((name, line),) = values.items()
    first, *rest = line.split(None, 1)
    able = [one for one in chosen if (name == one.name or (name == own.name and one.required)) and one.fits(first)]
    return {able[0].name: first, own.name: rest[0]} if able and rest else values


class Wrong(Exception):
    """An invalid argument; the text names it and the valid values."""


def own_words(title: str, text: str) -> str:
    """Return the user's text verbatim, fenced, below a title.

    Claude Code also shows the typed command, which has the full text.
    """
    note = "The typed command, if it is shown, has all words of the user; the text above may have only the first ones."
    return f"{title}\n\n{fenced(text)}\n\n({note})"
