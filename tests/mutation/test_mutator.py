"""The mutator changes one thing at a time, leaves the rest alone, and the fixtures notice a sample of changes."""

from __future__ import annotations

import ast
import re

import pytest

from nexus_mcp.conformance.loading import load
from tests.forks import forked
from tests.mutation.accepted import ACCEPTED
from tests.mutation.attempt import ROOT, UNUSABLE, concerned, failing, mutants
from tests.mutation.modules import SERVED
from tests.mutation.mutator import mutations

# Module, change: each must be killed by a fixture. Chosen from all over the tools and events, one kind of change each.
SAMPLE = (
    ("state/plan", "issue['status'] != DECIDED -> issue['status'] == DECIDED"),
    ("state/plan", "k != 'decision' -> k == 'decision'"),
    ("state/tasks", "task['id'] == task_id -> task['id'] != task_id"),
    ("state/tasks", "goal.strip() -> goal"),
    ("state/history", "issue.get('status') == plans.DECIDED -> issue.get('status') != plans.DECIDED"),
    ("state/artifact_name", "'~' in part -> '~' not in part"),
    ("tools/history_search", "query.strip() -> query"),
    ("tools/task_close", "for text in (topic, goal) if text -> for text in (topic, goal) if not text"),
    ("tools/task_list", "current is None -> current is not None"),
    ("tools/context", "'decisions' left out of {'branch': branch, 'activeMode': None, 'decisions': []}"),
    ("tools/plan_start", "now.put(PLAN, started, shapes.PLAN, started) left out"),
    ("tools/arguments", "value < least -> value <= least"),
    ("lifecycle/session_context", "now != before -> now == before"),
    ("lifecycle/post_tool_use", "'read' left out of {'read': counted[0]}"),
    ("lifecycle/malformed_payload", "if barred: -> if not barred:"),
)


@pytest.mark.parametrize(
    ("source", "changes"),
    [
        ("x = a == b", ["a == b -> a != b"]),
        ("x = a and b", ["a and b -> a or b"]),
        ("x = 1 if a else b", ["1 if a else b -> 1 if not a else b", "1 -> 2", "1 -> 0"]),
        ("x = {'a': b, **c}", ["'a' left out of {'a': b, **c}", "**c left out of {'a': b, **c}"]),
        ("f(x)", ["f(x) left out"]),
        ("def f():\n    return a", ["return a -> return None"]),
        ("def f():\n    raise ToolError(a)", ["raise ToolError(a) left out", "ToolError(a) -> ToolError(a + 'X')"]),
        ("x = max(a)", ["max(a) -> min(a)"]),
        ("x = a.lower()", ["a.lower() -> a"]),
        ("x = a[-n:]", ["-n -> n"]),
        ("for x in (a, b):\n    y", ["for x in (a, b): -> for x in (b, a):"]),
        ("x['a'] = b", ["x['a'] = b left out", "'a' -> 'aX'"]),
        ("x = 'key'", ["'key' -> 'keyX'"]),
    ],
)
def test_operators_describe_their_change(source: str, changes: list[str]) -> None:
    """Each operator finds its place and says what it changed."""
    assert [mutation.change for mutation in mutations(source)] == changes


@pytest.mark.parametrize(
    "source",
    [
        '"""prose"""',
        "x = 'Prose for people.'",
        "x: 'int' = a",
        "log.info(f(x))",
        "TYPE_CHECKING = False\nif TYPE_CHECKING:\n    from a import b",
        "TOOL = Tool(name='a', description='b', output=f({'a': 1}), classes=('reading',))",
    ],
)
def test_what_is_left_alone(source: str) -> None:
    """Prose, annotations, logs and what is only advertised are not mutated."""
    assert list(mutations(source)) == []


@pytest.mark.parametrize("module", SERVED)
def test_one_thing_at_a_time(module: str) -> None:
    """Each mutant of a module compiles, differs from it, and leaves the tree as it was for the next one."""
    source = (ROOT / "nexus_mcp" / f"{module}.py").read_text(encoding="utf-8")
    plain = ast.unparse(ast.parse(source))
    changed = [ast.unparse(mutation.tree) for mutation in mutations(source)]
    assert changed
    assert plain not in changed
    for text in changed:
        compile(text, module, "exec")


def test_accepted_survivors_are_mutants() -> None:
    """Every row of accepted.py speaks of a mutant that there is."""
    sources = {module: (ROOT / "nexus_mcp" / f"{module}.py").read_text(encoding="utf-8") for module in SERVED}
    changes = [(module, mutation.change) for module in SERVED for mutation in mutations(sources[module])]
    idle = [
        (where, what)
        for where, what, _ in ACCEPTED
        if not any(re.fullmatch(where, module) and re.fullmatch(what, change) for module, change in changes)
    ]
    assert idle == []


def test_fixtures_notice_the_sample() -> None:
    """A fixed sample of mutants is killed, each by a fixture of a tool that its module serves."""
    fixtures = load()
    wanted = [next((m for m in mutants(module) if m.change == change), change) for module, change in SAMPLE]
    assert [one for one in wanted if isinstance(one, str)] == []
    chosen = [one for one in wanted if not isinstance(one, str)]
    killed = {
        mutant.change: bool(failed) and failed != [UNUSABLE]
        for mutant, failed in forked(
            chosen, lambda mutant: failing(mutant, concerned(mutant.module, fixtures), first=True), 120.0
        )
    }
    assert killed == {change: True for _, change in SAMPLE}
