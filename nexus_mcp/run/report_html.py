"""Render the report of a run as one HTML page: without scripts, and without links to other hosts.

Texts of tasks and agents are data: each is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from nexus_mcp.log import printable
from nexus_mcp.quoting import ESCAPED
from nexus_mcp.run import events as ev
from nexus_mcp.run.projection import RunRecord
from nexus_mcp.run.report import attempted_tasks, remaining_steps, rows, status_line, timelines, title_of

_HEADS = ("Task", "State", "Agent", "Attempts", "Why")
_STATES = frozenset(("completed", "failed", "paused", "blocked", "skipped", "running", "merging"))
_LONGEST_DIFF = 20_000
_STYLE = (
    ":root{color-scheme:light dark;--text:#1d2129;--soft:#5b6472;--page:#fff;--box:#f4f5f7;--line:#d8dce2;"
    "--good:#116329;--bad:#a40e26;--warn:#7a4b00}"
    "@media(prefers-color-scheme:dark){:root{--text:#dfe3e8;--soft:#9aa4b2;--page:#15181d;--box:#22262d;--line:#363c46;"
    "--good:#56d364;--bad:#ff7b72;--warn:#e3b341}}"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:var(--text);"
    "background:var(--page);overflow-wrap:anywhere}"
    "h1{font-size:1.5rem;line-height:1.25;margin:0 0 .25rem}h2{font-size:1.15rem;margin:2rem 0 .5rem}"
    "p{margin:.25rem 0}.soft{color:var(--soft)}table{border-collapse:collapse;width:100%;margin-top:1rem}"
    "td,th{border-bottom:1px solid var(--line);padding:.4rem .5rem;text-align:left;vertical-align:top}"
    "td:nth-child(1){min-width:12rem}td:nth-child(5){min-width:10rem}"
    "code,pre{font:.9em/1.45 ui-monospace,monospace;background:var(--box);border-radius:4px}code{padding:.1rem .3rem}"
    "pre{padding:.6rem;overflow:auto;overflow-wrap:normal}.completed{color:var(--good)}.failed,.paused{color:var(--bad)}"
    ".blocked,.skipped{color:var(--warn)}details{margin:.4rem 0}summary{cursor:pointer;padding:.15rem 0}"
    "ol,ul{margin:.3rem 0;padding-left:1.4rem}time{color:var(--soft);margin-right:.4rem}"
    "@media(max-width:40rem){body{margin:1rem auto}thead{display:none}tr{display:block;padding:.5rem 0;"
    "border-bottom:1px solid var(--line)}td{display:block;border:0;padding:.1rem 0}td:nth-child(1){font-weight:600}"
    "td:not(:nth-child(1)):not(:empty)::before{content:attr(data-name) ': ';color:var(--soft)}}"
)


def html(
    state: RunRecord,
    document: Mapping[str, Any],
    log: Sequence[ev.AnyEvent],
    *,
    merge: str = "",
    diffs: Mapping[tuple[int, int], str] | None = None,
) -> str:
    """Return the page. `diffs` maps (task, attempt) to the changes of the attempt."""
    goal = str(document.get("goal", "")).strip()
    parts = [
        "<!doctype html><html lang=en><head><meta charset=utf-8>",
        '<meta name=viewport content="width=device-width,initial-scale=1">',
        f"<title>{_html(goal or state.run)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{_html(goal or state.run)}</h1><p>{_html(status_line(state, document))}</p>",
        f"<p class=soft>{_html(state.run)}</p>" if goal else "",
        f"<table><thead><tr>{''.join(f'<th>{name}</th>' for name in _HEADS)}</tr></thead><tbody>",
        *(_row(cells) for cells in rows(state, document)),
        "</tbody></table>",
    ]
    steps = timelines(log)
    if tasks := attempted_tasks(state):
        parts.append("<h2>What happened</h2>")
    for record in tasks:
        title = f"Task {record.id}: {_html(title_of(document, record.id))}"
        mine = [(one.attempt.number, (diffs or {}).get((record.id, one.attempt.number), "")) for one in record.attempts]
        parts.append(f"<details><summary>{title}</summary>{_steps(steps.get(record.id, ()))}{_diffs(mine)}</details>")
    what = "".join(f"<li>{_line(text)}</li>" for text in remaining_steps(state, document, merge, _flat))
    parts.append(f"<h2>What is left</h2><ul>{what}</ul></body></html>\n")
    return "".join(parts)


def _row(cells: Sequence[str]) -> str:
    named = zip(_HEADS, cells, strict=True)
    return f"<tr>{''.join(f'<td data-name={name}{_class(cell)}>{_html(cell)}</td>' for name, cell in named)}</tr>"


def _class(cell: str) -> str:
    return f" class={cell}" if cell in _STATES else ""


def _steps(lines: Iterable[str]) -> str:
    rows_ = ((line[:8], line[9:]) for line in lines)
    return f"<ol>{''.join(f'<li><time>{escape(at)}</time>{_html(text)}</li>' for at, text in rows_)}</ol>"


def _diffs(found: Iterable[tuple[int, str]]) -> str:
    return "".join(
        f"<details><summary>Changes of attempt {number}</summary><pre tabindex=0>{_block(diff)}</pre></details>"
        for number, diff in found
        if diff
    )


def _block(diff: str) -> str:
    cut = diff[:_LONGEST_DIFF]
    more = "" if len(cut) == len(diff) else "\n… diff.patch in the folder of the attempt has the rest."
    return escape("\n".join(map(printable, f"{cut}{more}".split("\n"))))


def _flat(text: str) -> str:
    """Return a stored text on one line, without backticks: `remaining_steps` puts them around commands."""
    return " ".join(text.split()).replace("`", "'")


def _line(text: str) -> str:
    """Return a line of `remaining_steps` as HTML, with the texts between backticks as code."""
    parts = text.split("`")
    return "".join(f"<code>{_html(part)}</code>" if at % 2 else _html(part) for at, part in enumerate(parts))


def _html(text: str) -> str:
    """Return a text on one line for the page. If it was made inert for a terminal, show the original characters."""
    return escape(printable(text).replace(ESCAPED, "<"))
