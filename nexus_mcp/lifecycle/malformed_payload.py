"""Decide pre_tool_use for malformed payloads, and after an error: restrictions still apply.

If the payload is malformed, an agent with restrictions is denied every tool but those that only read. The text fields
of the first level are read even if the payload is no valid JSON. Deeper levels are input from the agent, and no fault
in them may hide which agent makes the call.
"""

from __future__ import annotations

import os
import re

from nexus_mcp.catalog.capabilities import all_capabilities, restricted_agents
from nexus_mcp.catalog.tool_files import only_reads
from nexus_mcp.lifecycle.agent_identity import identify
from nexus_mcp.lifecycle.definition import BLOCK, CONTINUE, DENY
from nexus_mcp.lifecycle.pre_tool_use import ask_gate, has_file
from nexus_mcp.lifecycle.pre_tool_use import decide as decide_on
from nexus_mcp.lifecycle.sources import catalog_of
from nexus_mcp.quoting import quote, quoted_name
from nexus_mcp.store.paths import TASKS
from nexus_mcp.wording import join_first
from nexus_mcp.workspace import LIMIT_VARIABLE

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from typing import Any

    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.lifecycle.definition import EventContext

NAMES = ("harness_id", "tool", "agent_id", "agent_name", "session_id", "tool_input", "file")
_WHO = ("agent_id", "agent_name")
_SHOWN, _NAMED = 200, 3
UNUSABLE = False
"""The result for a field whose value is no text, or that occurs twice with different values."""
MOST_TOKENS = 300_000
"""Maximum tokens to read; a run of tokens below the first level counts as one."""
_NAME = 64  # maximum bytes of a field name of ours, without escapes
# Quantifiers are possessive, as in store/codec.py. A run of brackets is one token, because there may be millions.
_STRING = rb'"(?:[^"\\]++|\\.)*+"'
# The expression skips blanks itself, because there may be millions.
_TOKEN = re.compile(rb"\s*+(" + _STRING + rb"|[\[{]++|[\]}]++|[,:]|[^\s\[\]{},:\"]++|\")", re.DOTALL)
_PLAIN = rb"[^\"\[\]{}]++|" + _STRING
_SHALLOW = rb"%b|\[(?:%b)*+\]|\{(?:%b)*+\}" % (_PLAIN, _PLAIN, _PLAIN)
# Below the first level only the depth counts, so balanced brackets are skipped at once.
_DEEPER = re.compile(rb"((?:%b)++)|[\[{]++|[\]}]++|\"" % _SHALLOW, re.DOTALL)


def outline(data: bytes, names: Collection[str]) -> tuple[dict[str, object], bool]:
    """Return (the fields `names` of the object in `data`, whether it was read to its end and no data follows).

    The value of a field is its text or UNUSABLE; nulls are left out.
    """
    found: dict[str, object] = {}
    is_whole = False
    for name, value in _members(data):
        is_whole = not name and value is None
        if is_whole or name not in names or value is None:
            continue
        found[name] = value if found.get(name, value) == value else UNUSABLE
    return found, is_whole


def decide(ctx: EventContext, fields: Mapping[str, object], *, is_whole: bool, is_valid: bool) -> None:
    """Deny or block a tool if the readable fields of the payload require that.

    `fields` has values of any type for NAMES; `is_whole` says that no field can be missing. `is_valid` says that the
    payload is well-formed: then the restrictions of an agent forbid their own tools only, not all tools that do more
    than read. An unknown agent may be any agent, so it is denied each tool that some agent may not use. An unreadable
    input may name any file.
    """
    catalog = catalog_of(ctx)
    known = {name: text for name in (*_WHO, "session_id") if (text := _word(fields.get(name)))}
    identity = identify(ctx, dict(known))
    tool = _word(fields.get("tool"))
    is_readable = is_whole and _is_agent_readable(fields)
    is_known = bool(identity.names) or identity.is_unknown or is_readable
    agents = identity.agents(catalog) if is_known else list(catalog.agents.values())
    is_one = len(identity.names) == 1
    if tool:
        if not identity.names and not is_readable:
            _deny_if_any(ctx, catalog, tool)
        if ctx.decision != DENY:
            file = _word(fields.get("file"))
            params = {"tool": tool, "tool_input": fields.get("tool_input"), "file": file, **known}
            may_be_agent = not is_whole or any(fields.get(one) is not None for one in _WHO)
            is_lost = not is_whole or bool(file) or fields.get("tool_input") is not None
            decide_on(ctx, params, may_be_agent=may_be_agent, is_input_lost=is_lost)
        if ctx.decision not in (DENY, BLOCK) and not is_valid and not _only_reads(ctx, catalog, tool):
            _deny_if_limited(ctx, catalog, agents, tool=tool, is_one=is_one)
    else:
        _deny_if_limited(ctx, catalog, agents, is_one=is_one)
        if ctx.decision != DENY and os.environ.get(LIMIT_VARIABLE):
            ctx.decide(DENY, "The payload does not say which tool would run, and this session may not edit all files.")
        if ctx.decision != DENY and ctx.host.limit and not has_file(ctx, TASKS):  # only installed hooks have a limit
            ask_gate(
                ctx, "There is no task list, and the payload does not say which tool would run. Use the tool again."
            )
    if ctx.decision not in (DENY, BLOCK):  # the fields are not reliable enough to allow the tool
        ctx.decide(CONTINUE)


def _members(data: bytes) -> Iterator[tuple[str, object]]:
    """Yield (name, value) of each top-level field; at the end of the object ("", None), or ("", UNUSABLE) if more data
    or a further closing bracket follows.
    """
    depth, at, name, is_value, seen = 0, 0, "", False, 0
    while found := (_TOKEN if depth <= 1 else _DEEPER).search(data, at):
        at = found.end()
        seen += 1
        if depth > 1 and found[1] is not None and seen < MOST_TOKENS:
            continue
        token = found[1] if depth <= 1 else found[0]
        first = token[:1]
        # An unterminated string holds no fields; everything behind too many tokens is unknown.
        if token == b'"' or seen >= MOST_TOKENS:
            return
        if first in b"{[":
            if depth == 0 and (first != b"{" or data[: found.start(1)].strip(b" \t\r\n\xef\xbb\xbf")):
                return
            if depth == 1 and is_value:
                yield name, UNUSABLE
            depth += len(token)
        elif first in b"}]":
            depth -= len(token)
            if depth <= 0:
                # Data behind the object may be another payload, from an agent.
                yield "", None if depth == 0 and not data[at:].strip() else UNUSABLE
                return
        elif first == b",":
            name, is_value = "", False
        elif first == b":":
            is_value = bool(name)
        elif is_value:
            yield name, None if token == b"null" else _text(token)
        else:
            text = _text(token) if len(token) <= _NAME * 6 else UNUSABLE
            name = text if isinstance(text, str) else ""


def _text(token: bytes) -> object:
    import json

    try:
        value = json.loads(token.decode("utf-8", "replace"), strict=False)
    except ValueError:
        return UNUSABLE
    return value if isinstance(value, str) else UNUSABLE


def _deny_if_any(ctx: EventContext, catalog: Catalog, tool: str) -> None:
    barred = restricted_agents(catalog, tool, ctx.harness_id)
    if barred:
        names = join_first(barred, _NAMED, quoted_name)
        ctx.decide(
            DENY,
            f"Which agent wants to use {quote(tool, _SHOWN)} is unknown, and {names} may not. "
            "Use it again with a smaller and plainer input.",
        )


def _only_reads(ctx: EventContext, catalog: Catalog, tool: str) -> bool:
    """Return whether the name is that of a tool that only reads: then no other field can make it harmful."""
    known = catalog.maps.get(ctx.harness_id)
    return known is not None and only_reads(known, tool)


def _deny_if_limited(
    ctx: EventContext, catalog: Catalog, agents: list[dict[str, Any]], *, tool: str = "", is_one: bool
) -> None:
    """Deny if one of the possible agents may not use every tool. Do nothing if the harness has no capability map, not
    even a faulty one.
    """
    limited = [agent["id"] for agent in agents if all_capabilities(agent)]
    if limited and (ctx.harness_id in catalog.maps or catalog.lost_map(ctx.harness_id)):
        agent = quoted_name(limited[0]) if is_one else "this agent"
        head = (
            f"Whether {agent} may use {quoted_name(tool, _SHOWN)} is not certain: the payload is malformed."
            if tool
            else f"Which tool {quoted_name(limited[0])} wants to use is unknown, and this agent may not use every tool."
            if is_one
            else "The payload names neither the tool nor the agent, and some agents may not use every tool."
        )
        ctx.decide(DENY, f"{head} Use it again with a smaller and plainer input.")


def _is_agent_readable(fields: Mapping[str, object]) -> bool:
    """Return whether the fields about the agent are readable; absent or empty fields mean the main session."""
    return all(fields.get(name) in (None, "") or _word(fields[name]) for name in _WHO)


def _word(value: object) -> str:
    """Return a non-blank text; "" for any other value."""
    return value if isinstance(value, str) and value.strip() else ""
