"""Parse and resolve placeholders such as `{{tool:plan_decide}}`, and read the notes of a harness.

The notes (assets/harnesses/<id>/notes.md) say how agents are started and resumed in the harness.
"""

from __future__ import annotations

from itertools import islice

from nexus_mcp import program
from nexus_mcp.packaged import data_path
from nexus_mcp.wording import did_you_mean, nearest

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


def read_notes(harness: str) -> str:
    """Return the notes of a harness; "" without notes. `harness` is an id that workspace.check_harness_id accepts."""
    try:
        with open(data_path("assets", "harnesses", harness, "notes.md"), encoding="utf-8") as file:
            return file.read().strip()
    except FileNotFoundError:
        return ""


_OF_THE_LEAD = ("Start an agent", "Resume an agent")
_CHAPTER = "## "


def worker_notes(notes: str) -> str:
    """Return the notes of a harness without the chapters on starting and resuming agents."""
    first, *chapters = f"\n{notes}".split(f"\n{_CHAPTER}")
    shown_chapters = [text for text in chapters if text.partition("\n")[0].strip() not in _OF_THE_LEAD]
    return f"\n{_CHAPTER}".join([first, *shown_chapters]).strip()


OF_A_HARNESS = ("brief", "resume")
"""The commands in COMMANDS whose output depends on the harness id."""

OF_A_MOUNT = ("brief",)
"""The commands in COMMANDS whose output contains the harness's names of our tools."""

COMMANDS = (*OF_A_HARNESS, "act", "doctor", "init", "verdict")
"""Commands that a text may name; a test compares them with nexus_mcp/cli/, which this package must not import."""

OPEN, CLOSE = "{{", "}}"
_SEARCHED = 50  # names
_COMPARED, _APART = 64, 8  # characters
_ALIKE = 0.7


def find_placeholders(text: str) -> Iterator[tuple[int, int, str, str]]:
    """Yield (start, end, kind, id) of each placeholder; kind and id are "" when it is not `{{kind:id}}`."""
    at = text.find(OPEN)
    while at >= 0:
        close = text.find(CLOSE, at)
        end = len(text) if close < 0 else close + len(CLOSE)
        inside = text[at + len(OPEN) : close] if close >= 0 else ""
        kind, colon, name = inside.partition(":")
        good = bool(colon) and _is_word(kind) and _is_word(name)
        yield (at, end, kind, name) if good else (at, end, "", "")
        at = text.find(OPEN, end)


def command(name: str, harness_id: str, mount: str = "") -> str:
    """Return the command line of a nexus-mcp command, with the harness id or the mount if its output depends on it."""
    return program.command(f"{name}{options_of(name, harness_id, mount)}")


def options_of(name: str, harness_id: str, mount: str) -> str:
    """Return the options that a command needs in a text for a harness, each after a space; "" for none."""
    return f" --harness-id {harness_id}" * (name in OF_A_HARNESS) + f" --mount {mount}" * (
        name in OF_A_MOUNT and bool(mount)
    )


def find_faults(
    text: str, known: Mapping[str, Mapping[str, object] | tuple[str, ...]]
) -> Iterator[tuple[int, Callable[[], str]]]:
    """Yield (offset, function that returns the fault) for each malformed or unknown placeholder."""
    for start, _, kind, name in find_placeholders(text):
        if not kind:
            yield start, lambda: "a placeholder is {{kind:id}}, e.g. {{tool:plan_decide}}"
        elif kind not in known:
            yield start, _no_kind(kind, known)
        elif name not in known[kind]:
            yield start, _unknown(kind, name, known[kind])


def resolve(
    text: str, naming: str, harness_id: str, invocations: Mapping[str, Mapping[str, object]], mount: str = ""
) -> str:
    """Return the text with each placeholder replaced; malformed ones and unknown kinds stay.

    `naming` is the form of our tools' names in the text, in which `*` stands for the name; `invocations` are those of
    the vocabulary; `mount` is the value of the option --mount, "" for none.
    """
    return fill(
        text, lambda name: f"`{naming.replace('*', name)}`", lambda name: command(name, harness_id, mount), invocations
    )


def fill(
    text: str,
    tool: Callable[[str], str],
    command: Callable[[str], str],
    invocations: Mapping[str, Mapping[str, object]],
) -> str:
    """Return the text with each placeholder replaced; malformed ones and unknown kinds stay. `tool` and `command`
    return the words for the name of a tool or command of ours.
    """
    parts, done = [], 0
    for start, end, kind, name in find_placeholders(text):
        word = name
        if kind == "tool":
            word = tool(name)
        elif kind == "command":
            word = command(name)
        elif kind == "action" and name in invocations:
            word = str(invocations[name]["say"])
        elif kind not in ("action", "agent", "skill"):
            continue
        parts += [text[done:start], word]
        done = end
    return "".join([*parts, text[done:]])


def suggestion(name: str, known: Mapping[str, object] | tuple[str, ...]) -> str:
    """Return `; did you mean x?` with the nearest known names, or ""."""
    return did_you_mean(near(name, known))


def near(name: str, known: Mapping[str, object] | tuple[str, ...]) -> list[str]:
    """Return the nearest known names, at most two; [] if none is near or `name` is longer than _COMPARED.

    Only the first _SEARCHED names of similar length are compared, because a project may have thousands.
    """
    if len(name) > _COMPARED:
        return []
    similar = (one for one in known if abs(len(one) - len(name)) <= _APART)
    return nearest(name, list(islice(similar, _SEARCHED)), _ALIKE)


def _no_kind(kind: str, known: Mapping[str, object]) -> Callable[[], str]:
    return lambda: f"{kind!r} is no kind of placeholder; the kinds are {', '.join(known)}"


def _unknown(kind: str, name: str, known: Mapping[str, object] | tuple[str, ...]) -> Callable[[], str]:
    return lambda: f"there is no {kind} {name!r}{suggestion(name, known)}"


def _is_word(text: str) -> bool:
    return bool(text) and text[0].isalpha() and text.replace("-", "").replace("_", "").isalnum() and text.isascii()
