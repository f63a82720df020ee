"""Count the tokens that a server costs a model: for tools and instructions in every session, and for answers.

    python -m benchmarks.tokens [--page]

Measures our server beside the upstream server and two other products of npm, writes benchmarks/results/tokens.json and
the tables of docs/tokens.md. --page writes only the tables. A product that cannot be installed keeps its earlier row,
and stdout says so. The exit code is 1 when our server exceeds a budget, 2 when it could not be measured.

Sizes are bytes of JSON in UTF-8 with a space after each comma and colon. Tokens are estimated in the same way for all
servers: a word counts one token for each eight letters begun, and three digits or a run of other characters count one.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import page, results
from benchmarks.client import ROOT, NotMeasurable
from benchmarks.data.project import Project, projects
from benchmarks.data.words import RARE
from benchmarks.figures import NODE, OURS
from benchmarks.peers.servers import CONTEXT, SERVERS, Server

RESULT = results.FOLDER / "tokens.json"
PAGE = ROOT / "docs" / "tokens.md"
CONTRACT_TOOLS = 11
BUDGETS = {"inputs": 8_500, "tools": 15_000, "instructions": 500}
"""Maximum bytes of names, descriptions and input schemas, of the whole tools/list, and of the instructions."""
FURTHER = {"inputs": 8_500 // CONTRACT_TOOLS, "tools": 15_000 // CONTRACT_TOOLS, "instructions": 0}
"""Bytes that each tool beyond CONTRACT_TOOLS may add: their average."""
INSTRUCTION_TOKENS = 119
TASKS, CYCLES, HITS = 30, 100, 5
ANSWERS: dict[str, dict[str, Any]] = {
    "task_list": {},
    "plan_status": {},
    "context": {},
    "history_search": {"query": RARE, "last_n": HITS},
}
"""Tool → arguments of the calls whose answers are measured."""
ANSWER_BUDGETS = {"task_list": 13_949, "plan_status": 669, "context": 175, "history_search": 4_159}
"""Maximum bytes of these answers: those of version 0.1."""
_SERVERS = {name: table[name] for name, table in ((OURS, SERVERS), (NODE, SERVERS))} | {
    name: CONTEXT[name] for name in ("backlog.md", "task-master-ai")
}
_SET_UP = {"backlog.md": ("init", "measured", "--defaults", "--no-git", "--integration-mode", "mcp")}
"""Server → arguments of its program that set up a project, without which the server has no tools."""
_NAMES = {OURS: "nexus-mcp", NODE: "upstream"}
_PARTS = ("name", "description", "inputSchema")
_PIECE = re.compile(r"[^\W\d_]+|\d{1,3}|(?:[^\w\s]|_)+")
_WORD = 8


def estimate(text: str) -> int:
    """Return the estimated number of tokens of a text."""
    return sum(-(-len(piece) // _WORD) if piece[0].isalpha() else 1 for piece in _PIECE.findall(text))


def measure_text(text: str) -> dict[str, int]:
    """Return bytes and tokens."""
    return {"bytes": len(text.encode()), "tokens": estimate(text)}


def written(value: object) -> str:
    """Return the JSON text that is measured."""
    return json.dumps(value, ensure_ascii=False)


def measure_session(tools: Sequence[Mapping[str, Any]], instructions: str) -> dict[str, Any]:
    """Return the bytes and tokens that a session costs before its first message."""
    inputs = "".join(written({name: tool[name] for name in _PARTS if name in tool}) for tool in tools)
    return {
        "count": len(tools),
        "inputs": measure_text(inputs),
        "tools": measure_text(written({"tools": list(tools)})),
        "instructions": measure_text(instructions),
    }


def find_excess(session: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each budget that the figures of `measure_session` exceed."""
    further = max(0, session["count"] - CONTRACT_TOOLS)
    limits = {part: budget + further * FURTHER[part] for part, budget in BUDGETS.items()}
    return [
        f"{part}: {session[part]['bytes']} bytes, {session[part]['bytes'] - limit} more than the budget for "
        f"{session['count']} tools. Shorten their texts; the budgets are in benchmarks/tokens.py and docs/tokens.md."
        for part, limit in limits.items()
        if session[part]["bytes"] > limit
    ]


def keep_rows(found: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Return `found` with the figures from before for each peer that could not be measured now."""
    kept = {name: before.get(name, {}) for name, figures in found.items() if name != OURS and "missing" in figures}
    return {name: kept[name] if "inputs" in kept.get(name, {}) else figures for name, figures in found.items()}


def fill(project: Project) -> None:
    """Put the plan, the tasks and the history of the measured answers into a project."""
    project.give_plan()
    project.give_tasks(TASKS)
    project.give_history(CYCLES)


def measure(server: Server, project: Project) -> dict[str, Any]:
    """Return the figures of one server. Raise NotMeasurable."""
    fill(project)
    if server.name in _SET_UP:
        command = [server.command[0], *_SET_UP[server.name]]
        subprocess.run(command, cwd=project.root, check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
    with server.start(project.root) as session:
        instructions = session.connection.introduce().get("instructions") or ""
        found = measure_session(_listed(session.connection), instructions)
        if server.tools:
            answers = {tool: session.call(tool, **arguments)[1] for tool, arguments in ANSWERS.items()}
            found["answers"] = {
                tool: measure_text(written(answer)) for tool, answer in answers.items() if "error" not in answer
            }
        return found


def _listed(connection: Any) -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = []
    params: dict[str, Any] = {}
    while True:
        answer = json.loads(connection.ask("tools/list", params)[1])
        if "result" not in answer:
            raise NotMeasurable(f"tools/list failed: {answer.get('error')}")
        tools += answer["result"]["tools"]
        if not answer["result"].get("nextCursor"):
            return tools
        params = {"cursor": answer["result"]["nextCursor"]}


def measure_all() -> dict[str, Any]:
    """Return server → its figures, or {"missing": why there are none}."""
    found: dict[str, Any] = {}
    with projects(list(_SERVERS)) as rooms:
        for name, make in _SERVERS.items():
            try:
                found[name] = measure(make(), rooms[name])
            except (NotMeasurable, OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
                found[name] = {"missing": " ".join(str(error).split())[:200] or type(error).__name__}
    return found


def blocks(result: Mapping[str, Any]) -> dict[str, str]:
    """Return the tables of docs/tokens.md, by the names of their places."""
    there = {name: figures for name, figures in result.items() if "missing" not in figures}
    session = [
        ("server", "tools", "names, descriptions, inputs", "tokens", "whole tools/list", "instructions", "tokens"),
        *(_session_row(name, figures) for name, figures in there.items()),
    ]
    answering = {name: figures["answers"] for name, figures in there.items() if "answers" in figures}
    heads = [text for name in answering for text in (_name(name), "tokens")]
    answers = [
        ("answer", *heads),
        *(
            (f"`{tool}`", *(cell for figures in answering.values() for cell in _answer_cells(figures.get(tool))))
            for tool in ANSWERS
        ),
    ]
    missing = [
        f"- {_name(name)} is not in the tables: {result[name]['missing']}" for name in result if name not in there
    ]
    return {"session": "\n".join([_table(session), *([""] if missing else []), *missing]), "answers": _table(answers)}


def _answer_cells(size: Mapping[str, int] | None) -> tuple[str, ...]:
    return ("no such tool", "") if size is None else (_number(size["bytes"]), _number(size["tokens"]))


def _session_row(name: str, figures: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        _name(name),
        str(figures["count"]),
        _number(figures["inputs"]["bytes"]),
        _number(figures["inputs"]["tokens"]),
        _number(figures["tools"]["bytes"]),
        _number(figures["instructions"]["bytes"]),
        _number(figures["instructions"]["tokens"]),
    )


def _name(server: str) -> str:
    return _NAMES.get(server, server)


def _number(value: int) -> str:
    return f"{value:,}".replace(",", " ")


def _table(lines: Sequence[tuple[str, ...]]) -> str:
    rule = tuple("--:" if place else "---" for place in range(len(lines[0])))
    return "\n".join("| " + " | ".join(line) + " |" for line in (lines[0], rule, *lines[1:]))


def write_page() -> None:
    """Fill the tables of docs/tokens.md with the stored results."""
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(page.filled(text, blocks(results.read(RESULT))), encoding="utf-8")


def main(argv: Sequence[str]) -> int:
    """Measure the servers (not with --page), and write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tokens", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--page", action="store_true", help="only write the tables of docs/tokens.md again")
    found: dict[str, Any] = {}
    if not parser.parse_args(argv).page:
        found = measure_all()
        if "missing" in found[OURS]:
            print(f"Our server could not be measured: {found[OURS]['missing']}. Nothing was written.")
            return 2
        for name, figures in found.items():
            if "missing" in figures:
                print(f"{_name(name)} was not measured: {figures['missing']}. A row from before stays.")
        results.write(RESULT, keep_rows(found, results.read(RESULT)))
    write_page()
    for text in blocks(results.read(RESULT)).values():
        print(text, end="\n\n")
    excess = find_excess(found[OURS]) if found else []
    for sentence in excess:
        print(sentence)
    return 1 if excess else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
