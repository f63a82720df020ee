"""Render the view `status` as lines for people."""

from __future__ import annotations

import os
from functools import partial

from nexus_mcp.cli import blocks
from nexus_mcp.cli.blocks import BLANK, DETAIL, LEAD, MAIN, NUMBER, Line, Table, heading
from nexus_mcp.cli.options import count_noun
from nexus_mcp.cli.task_lines import problem_lines, progress, task_table
from nexus_mcp.state import plan as plans
from nexus_mcp.store.run_files import RUNNING
from nexus_mcp.views import runs, task_rows, tasks
from nexus_mcp.views.period import age
from nexus_mcp.wording import rest_line
from nexus_mcp.worktree import is_linked, main_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from nexus_mcp.cli.blocks import Content, Part
    from nexus_mcp.views import FaultRow
    from nexus_mcp.views.agents import Agent
    from nexus_mcp.views.cycles import CycleRow
    from nexus_mcp.views.runs import RunRow
    from nexus_mcp.views.status import Status
    from nexus_mcp.views.task_rows import Row

    Block = Line | Table

MOST, FEWER = 8, 5
"""The maximum number of rows of a section; FEWER is for questions and waiting tasks, which take more lines."""
_SECTIONS = (
    (task_rows.RUNNING, "In progress", MOST, "tasks"),
    (task_rows.READY, "Ready", MOST, "tasks --ready"),
    (task_rows.WAITING, "Waiting", FEWER, "tasks --blocked"),
)
"""State, heading, maximum number of rows, and the command that lists all tasks in the state."""
_FIRST_STEP = "In your client, type [plan] and what you want to do: this starts a plan here."
_CLOSE = "All tasks are done: task_close puts the cycle into the history."


def status_blocks(view: Status, now: float, width: int) -> list[Block]:
    """Return the status as blocks for a terminal of `width` columns. `now` is in seconds since 1970.

    A `width` of 0 means a pipe, which gets absolute times.
    """
    at = partial(when, now=now, width=width)
    sections: list[list[Block]] = [
        [*fault_lines(view["faults"])],
        [*_plan(view["plan"], at), *_progress(view["tasks"], width)] or _nothing(view),
        _questions(view["plan"]),
        *_tasks(view["tasks"]),
        _run(view["run"], at),
        _agents(view["agents"], at),
        _last(view["last_cycle"], at),
        _place(view),
    ]
    shown: list[Block] = []
    for section in filter(None, sections):
        shown += [BLANK, *section] if shown else section
    return shown


def when(stamp: str, now: float, width: int) -> str:
    """Return the age of the stamp at `now` for a terminal, or the stamp itself for a pipe, whose width is 0."""
    return age(stamp, now) if width else stamp


def fault_lines(faults: Sequence[FaultRow]) -> list[Line]:
    """Return lines about the files that cannot be read, each with its next step, if there is one."""
    found: list[Line] = []
    for fault in faults:
        found.append(Line(f"{fault['problem']}.", lead=[("✗ ", blocks.PROBLEM)]))
        if fault["next_step"]:
            found.append(Line(fault["next_step"], lead="  "))
    return found


def _plan(plan: dict[str, Any] | None, at: Callable[[str], str]) -> list[Block]:
    if plan is None:
        return []
    return [heading(plan["topic"], f"plan {plan['id']}, started {at(plan['created_at'])}")]


def _progress(view: dict[str, Any] | None, width: int) -> list[Block]:
    if view is None or not view["rows"]:
        return []
    found: list[Block] = [Line(view["goal"], lead=[("Goal: ", blocks.DIM)])] if view["goal"] else []
    found.append(progress(view["counts"], width))
    return [*found, Line(_CLOSE)] if view["counts"]["done"] == len(view["rows"]) else found


def _nothing(view: Status) -> list[Block]:
    """Return the blocks that are shown if there are neither plan nor tasks and no file is unreadable."""
    if view["faults"]:
        return []
    first = "No plan is open." if view["cycles"] else "Nothing is planned here yet."
    return [Line((first, blocks.STRONG)), Line(_FIRST_STEP)]


def _questions(plan: dict[str, Any] | None) -> list[Block]:
    if plan is None or not plan["issues"]:
        return []
    total = len(plan["issues"])
    if not plan["pending"]:
        return [Line((f"{count_noun(total, 'question')}, all decided", blocks.DIM))]
    rows = [
        [("?", blocks.QUESTION), str(issue["id"]), issue["title"]]
        for issue in plan["issues"]
        if issue["status"] != plans.DECIDED
    ]
    note = f"{plan['pending']} of {total}" if plan["decided"] else ""
    return [
        heading("Open questions", note),
        Table((LEAD, NUMBER, MAIN), rows[:FEWER], indent=2),
        *_more(len(rows) - FEWER, "nexus-mcp status --json has them all."),
    ]


def _tasks(view: dict[str, Any] | None) -> list[list[Block]]:
    if view is None:
        return []
    rows: list[Row] = view["rows"]
    known = tasks.by_id(rows)
    sections: list[list[Block]] = []
    for state, title, most, words in _SECTIONS:
        there = [row for row in rows if row["state"] == state]
        if there:
            more = _more(len(there) - most, f"nexus-mcp {words} lists them all.")
            sections.append([heading(title), task_table(there[:most], known), *more])
    if problems := problem_lines(rows, view["cycles"]):
        sections.append(
            [heading("Problems"), *problems[:MOST], *_more(len(problems) - MOST, "nexus-mcp tasks lists them.")]
        )
    return sections


def _more(rest: int, step: str) -> list[Block]:
    return [Line((f"{text}: {step}", blocks.DIM), lead="  ") for text in rest_line(rest)]


def _run(run: RunRow | None, at: Callable[[str], str]) -> list[Block]:
    """Return the newest run unless it is completed: its progress, open questions and the next command."""
    if run is None or run["status"] == runs.COMPLETED:
        return []
    parts = [f"{run['done']} of {count_noun(run['total'], 'task')} done"]
    parts += [f"{run[name]} {name}" for name in ("failed", "paused") if run[name]]
    style = blocks.ACTIVE if run["status"] == RUNNING else blocks.QUESTION
    found: list[Block] = [
        heading("Run", f"{run['id']}, {at(run['updated_at'])}"),
        Line((run["status"], style), f"  {', '.join(parts)}", lead="  "),
    ]
    rows = [[("?", blocks.QUESTION), one["id"], one["summary"]] for one in run["questions"]]
    if rows:
        found += [Table((LEAD, DETAIL, MAIN), rows[:FEWER], indent=2)]
        found += _more(len(rows) - FEWER, "nexus-mcp run status lists them all.")
    step = "follow it" if run["status"] == RUNNING and not run["questions"] else "go on"
    return [*found, Line((f"{step}: {run['command']}", blocks.DIM), lead="  ")]


def _agents(agents: Sequence[Agent], at: Callable[[str], str]) -> list[Block]:
    if not agents:
        return []
    rows: list[list[Content]] = []
    for agent in agents[:MOST]:
        last = at(agent["last_activity"])
        tool = f"{agent['last_tool']}, " if agent["last_tool"] else ""
        name = agent["name"] or agent["id"] or "unnamed"
        rows.append([("▸", blocks.ACTIVE), name, (agent["harness_id"], blocks.DIM), (f"{tool}{last}", blocks.DIM)])
    more = _more(len(agents) - MOST, "nexus-mcp status --json has them all.")
    return [heading("Running agents"), Table((LEAD, MAIN, DETAIL, DETAIL), rows, indent=2), *more]


def _last(cycle: CycleRow | None, at: Callable[[str], str]) -> list[Block]:
    if cycle is None:
        return []
    parts = [f"{cycle['done']} of {count_noun(cycle['tasks'], 'task')} done"] if cycle["tasks"] else []
    parts += [count_noun(cycle["decisions"], "decision")] if cycle["decisions"] else []
    what = cycle["topic"] or "tasks without a plan"
    note = ", ".join([at(cycle["completed_at"]), *parts])
    lead: list[Part] = ["  ", ("✓", blocks.GOOD), f"  {cycle['number']}  "]
    return [heading("Closed last"), Line(what, (f"  {note}", blocks.DIM), lead=lead)]


def _place(view: Status) -> list[Block]:
    if not view["state_root"]:
        main = main_of(view["project"]) if is_linked(view["project"]) else ""
        return [Line((f"This worktree has its own plan and tasks, separate from {main}", blocks.DIM))] if main else []
    shared = os.path.join(view["state_root"], "")
    return [Line((f"Plan, tasks and history are those of the main worktree, {shared}", blocks.DIM))]
