"""Translate the text of an agent or skill of nexus-core (upstream): macros and tool names become our placeholders.

A macro is `{{id key=value …}}`; a value is a word, a text between quotation marks, a list between brackets, an object
between braces, or `>>NAME` for a text in another place. A macro without a counterpart becomes plain text and is
reported. No `{{` of the old text may remain, because it would be read as one of our placeholders.
"""

from __future__ import annotations

import re

from nexus_mcp.catalog.placeholders import CLOSE, OPEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    Params = dict[str, str]
    Found = list[str]

_PARAM = re.compile(r"(\w+)=(?:\"((?:[^\"\\]|\\.)*)\"|(\[[^\]]*\]|\{[^}]*\})|>>(\w+)|(\S+))", re.DOTALL)
_SPAN = re.compile(r"`nx_([a-z_]+)([^`\n]*)`")
_NAME = re.compile(r"(?<![\w{:`])nx_([a-z_]+)\b")
_RUNS = re.compile(r"\{\{+|\}\}+")
_LONGEST = 60


class KnownNames:
    """The names that a text may refer to: tools, agents and skills."""

    __slots__ = ("agents", "skills", "tools")

    def __init__(self, tools: Collection[str], agents: Collection[str], skills: Collection[str]) -> None:
        self.tools = tools
        self.agents = agents
        self.skills = skills


def translate(text: str, known: KnownNames) -> tuple[str, list[str]]:
    """Return (the text with our placeholders, the names and macros without a counterpart, each once)."""
    missing: list[str] = []
    parts: list[str] = []
    done = 0
    while (at := text.find(OPEN, done)) >= 0:
        end = _find_end(text, at + len(OPEN))
        parts.append(_with_tools(text[done:at], known, missing))
        if end < 0:
            missing.append(f"a macro without an end, {_shorten(text[at:])}")
            done = at
            break
        parts.append(_translate_macro(text[at + len(OPEN) : end], known, missing))
        done = end + len(CLOSE)
    parts.append(_with_tools(text[done:], known, missing))
    return "".join(parts), list(dict.fromkeys(missing))


def _find_end(text: str, start: int) -> int:
    """Return the position of the `}}` that closes the macro whose `{{` ends at `start`, with nested braces counted; -1
    if nothing closes it.
    """
    depth = 0
    for at in range(start, len(text)):
        if text[at] == "{":
            depth += 1
        elif text[at] == "}":
            if depth:
                depth -= 1
            elif text[at + 1 : at + 2] == "}":
                return at
    return -1


def _translate_macro(inside: str, known: KnownNames, missing: Found) -> str:
    name, _, rest = inside.strip().partition(" ")
    params: Params = {}
    for key, quoted, braced, heredoc, word in _PARAM.findall(rest):
        params[key] = (
            re.sub(r"\\(.)", r"\1", quoted) if quoted else braced or (f"the text {heredoc}" if heredoc else word)
        )
    write = _MACROS.get(name)
    if write is None:
        missing.append(f"the macro {_shorten(inside)}")
        return f"`{_plain(inside)}`"
    return write({key: _with_tools(_plain(value), known, missing) for key, value in params.items()}, known, missing)


def _skill(params: Params, known: KnownNames, missing: Found) -> str:
    mode = f", mode {params['mode']}" if "mode" in params else ""
    skill = _placeholder("skill", params.get("skill", ""), known.skills, missing)
    return f"{{{{action:start_skill}}}} {skill}{mode}"


def _spawn(params: Params, known: KnownNames, missing: Found) -> str:
    agent = _placeholder("agent", params.get("target_role", ""), known.agents, missing)
    name = f", called {params['name']}" if "name" in params else ""
    return f"{{{{action:spawn_agent}}}} as {agent}{name}{_behind(params, 'prompt')}"


def _resume(params: Params, _known: KnownNames, _missing: Found) -> str:
    return f"{{{{action:resume_agent}}}} {params.get('agent_id', '')}".rstrip() + _behind(params, "prompt")


def _report(params: Params, _known: KnownNames, _missing: Found) -> str:
    state = f" ({params['state']})" if "state" in params else ""
    return f"{{{{action:report_progress}}}}{_behind(params, 'label')}{state}"


def _ask(params: Params, _known: KnownNames, _missing: Found) -> str:
    options = f", options {params['options']}" if "options" in params else ""
    return f"{{{{action:ask_user}}}}{_behind(params, 'question')}{options}"


_MACROS: dict[str, Callable[[Params, KnownNames, Found], str]] = {
    "skill_activation": _skill,
    "subagent_spawn": _spawn,
    "subagent_resume": _resume,
    "task_register": _report,
    "user_question": _ask,
}
INVOCATIONS = frozenset(_MACROS)


def _placeholder(kind: str, name: str, known: Collection[str], missing: Found) -> str:
    if name in known:
        return f"{{{{{kind}:{name}}}}}"
    missing.append(f"the {kind} {_shorten(name)}")
    return name


def _behind(params: Params, name: str) -> str:
    return f": {params[name]}" if params.get(name) else ""


def _with_tools(text: str, known: KnownNames, missing: Found) -> str:
    """Return the text with a placeholder for each known tool (`nx_…`), and without other braces that could form one."""

    def place(found: re.Match[str]) -> str:
        name, rest = found[1], found[2] if found.re is _SPAN else ""
        if name not in known.tools:
            missing.append(f"the tool nx_{name}")
            return found[0]
        return f"{{{{tool:{name}}}}}{f' `{rest.strip()}`' if rest.strip() else ''}"

    plain = _RUNS.sub(lambda found: " ".join(found[0]), text)
    return _NAME.sub(place, _SPAN.sub(place, plain))


def _plain(text: str) -> str:
    """Return a part of a macro on one line, with blanks between adjacent equal braces."""
    return _RUNS.sub(lambda found: " ".join(found[0]), " ".join(text.split()))


def _shorten(text: str) -> str:
    plain = " ".join(text.split())
    return plain[:_LONGEST] + ("…" if len(plain) > _LONGEST else "")
