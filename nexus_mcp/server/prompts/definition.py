"""The classes Prompt and Argument: plain data, with functions that return a prompt's text and an argument's values."""

from __future__ import annotations

from nexus_mcp.quoting import fence, inert

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
    """One argument of a prompt. `words(ctx)` returns values to suggest, in order; `fits(value)` tests a value."""

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

        Claude Code splits the text behind a command at blanks, passes one word per argument and drops the other words:
        for `/mcp__nexus__plan add a login` it passes the mode "add" and the text "a". So `is_cut` is set if the prompt
        has several arguments and the value of each is one word. Other clients pass the whole line as one argument.
        `_split_line` then splits off the first word if it fits.
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
    """Return the values. If there is only one, of several words, it may be split: one of the `chosen` arguments gets
    the first word, and `own`, the argument for free text, gets the other words.

    A value of a chosen argument is split if the first word fits this argument. A value of `own` is split if the first
    word fits a required argument.
    """
    if len(values) != 1:
        return values
    ((name, line),) = values.items()
    first, *rest = line.split(None, 1)
    able = [one for one in chosen if (name == one.name or (name == own.name and one.required)) and one.fits(first)]
    return {able[0].name: first, own.name: rest[0]} if able and rest else values


class Wrong(Exception):
    """An invalid or missing argument; the text names the argument and its fault."""


def own_words(title: str, text: str) -> str:
    """Return the user's text verbatim, in a fenced block below a title, with a note about the typed command.

    Claude Code also shows the typed command to the model; the command has the full text.
    """
    note = "The typed command, if it is shown, has all words of the user; the text above may have only the first ones."
    return f"{title}\n\n{fence(text)}\n\n({note})"
