"""The mutator changes one node at a time, and the fixtures detect a sample of changes."""

from __future__ import annotations

import ast

import pytest

from tests.conformance.suite import packaged
from tests.forks import forked
from tests.mutation.accepted import ACCEPTED, is_about
from tests.mutation.attempt import ROOT, UNUSABLE, Mutant, concerned, failing, mutants
from tests.mutation.modules import SERVED
from tests.mutation.mutator import mutations

# (Module, change, a fixture that kills the mutant and runs first; if it passes, the other fixtures follow.) The rows
# are from all parts of the tools and events, each with another kind of change.
SAMPLE = (
    (
        "state/plan",
        "issue['status'] != DECIDED -> issue['status'] == DECIDED",
        "reopening_an_issue_drops_the_decision_alone",
    ),
    ("state/plan", "k != 'decision' -> k == 'decision'", "reopening_an_issue_drops_the_decision_alone"),
    ("state/tasks", "task['id'] == task_id -> task['id'] != task_id", "history_broken_leaves_the_rest_usable"),
    ("state/tasks", "goal.strip() -> goal", "task_add_replaces_the_goal"),
    (
        "state/history",
        "issue.get('status') == plans.DECIDED -> issue.get('status') != plans.DECIDED",
        "history_search_sums_up_every_cycle",
    ),
    ("state/artifact_name", "'~' in part -> '~' not in part", "confinement_holds_between_good_writes"),
    ("tools/history_search", "query.strip() -> query", "history_search_with_a_blank_query"),
    (
        "tools/task_close",
        "for text in (topic, goal) if text -> for text in (topic, goal) if not text",
        "full_cycle_without_a_plan",
    ),
    ("tools/task_list", "current is None -> current is not None", "plan_broken_leaves_tasks_usable"),
    (
        "tools/context",
        "'decisions' left out of {'branch': branch, 'activeMode': None, 'decisions': []}",
        "tasks_broken_leave_the_plan_usable",
    ),
    ("tools/plan_start", "now.put(PLAN, started, shapes.PLAN, started) left out", "first_write_by_plan_start"),
    ("tools/arguments", "value < least -> value <= least", "history_broken_leaves_the_rest_usable"),
    ("lifecycle/session_memory", "now != before -> now == before", "context_compact_is_given_again_after_a_message"),
    ("lifecycle/post_tool_use", "'read' left out of {'read': counted[0]}", "post_tool_use_counts_each_note_of_a_call"),
    ("lifecycle/malformed_payload", "if barred: -> if not barred:", "pre_tool_use_of_nobody_knows_whom"),
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
    """Each operator finds its place and describes its change."""
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
def test_prose_and_annotations_are_not_mutated(source: str) -> None:
    """Prose, annotations, logs and advertised texts are not mutated."""
    assert list(mutations(source)) == []


@pytest.mark.parametrize("module", SERVED)
def test_each_mutant_differs_and_restores_the_tree(module: str) -> None:
    """Each mutant of a module compiles, differs from it, and restores the tree for the next one."""
    source = (ROOT / "nexus_mcp" / f"{module}.py").read_text(encoding="utf-8")
    plain = [ast.unparse(statement) for statement in ast.parse(source).body]
    tree = None
    for mutation in mutations(source):
        tree = mutation.tree
        # To unparse the whole module for each mutant would take seconds.
        number = max(n for n, statement in enumerate(tree.body) if first_line(statement) <= mutation.line)
        text = ast.unparse(tree.body[number])
        assert text != plain[number], mutation.change
        compile(text, module, "exec")
    assert tree is not None
    assert [ast.unparse(statement) for statement in tree.body] == plain


def first_line(statement: ast.stmt) -> int:
    """Return the first line of a statement, decorators included; 0 when it was changed as a whole."""
    return min(
        (node.lineno for node in getattr(statement, "decorator_list", ())), default=getattr(statement, "lineno", 0)
    )


def test_accepted_survivors_are_mutants() -> None:
    """Every row of accepted.py names an existing mutant."""
    sources = {module: (ROOT / "nexus_mcp" / f"{module}.py").read_text(encoding="utf-8") for module in SERVED}
    changes = [(module, one.change, one.function) for module in SERVED for one in mutations(sources[module])]
    idle = [row[:2] for row in ACCEPTED if not any(is_about(row, *change) for change in changes)]
    assert idle == []


def test_mutation_names_its_function() -> None:
    """A change names the function or method around it, and a row of accepted.py may hold for that one alone."""
    source = "x = 1\n\n\ndef f():\n    def g():\n        return a\n\n\nclass C:\n    def h(self):\n        return b\n"
    found = [(one.function, one.change) for one in mutations(source)]
    assert found == [
        ("", "1 -> 2"),
        ("", "1 -> 0"),
        ("f", "return a -> return None"),
        ("C.h", "return b -> return None"),
    ]
    row = ("m:C.*", "return .*", "why")
    assert [is_about(row, "m", change, function) for function, change in found] == [False, False, False, True]


def test_fixtures_notice_the_sample() -> None:
    """A fixed sample of mutants is killed, each by a fixture of a tool that its module serves."""
    fixtures = packaged()
    wanted = [(next(mutants(module, change), change), killer) for module, change, killer in SAMPLE]
    assert [one for one, _ in wanted if isinstance(one, str)] == []

    def is_killed(row: tuple[Mutant, str]) -> bool:
        mutant, killer = row
        ordered = sorted(concerned(mutant.module, fixtures), key=lambda fixture: fixture.test_id != killer)
        return failing(mutant, ordered, first=True) not in ([], [UNUSABLE])

    chosen = [(one, killer) for one, killer in wanted if not isinstance(one, str)]
    killed = {mutant.change: result for (mutant, _), result in forked(chosen, is_killed, 120.0)}
    assert killed == {change: True for _, change, _ in SAMPLE}
