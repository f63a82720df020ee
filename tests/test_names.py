"""Names of functions say what the function does or returns; a participle alone does neither."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "nexus_mcp"
REFUSED = frozenset(
    (
        *("ahead", "aside", "asked", "called", "covered", "cut", "done", "edited", "given", "gone", "held", "kept"),
        *("lost", "made", "merged", "opened", "raised", "refused", "resolved", "said", "shut", "standing", "taken"),
        *("together", "told", "touched", "unlisted", "unmapped", "unmerged", "unsure", "written"),
        *("awaited", "begun", "changed", "checked", "chosen", "closed", "compared", "counted", "decided", "delivered"),
        *("embedded", "ended", "escaped", "expired", "failed", "fenced", "filled", "flushed", "found", "generated"),
        *(
            "indented",
            "installed",
            "joined",
            "judged",
            "known",
            "labelled",
            "late",
            "left",
            "listed",
            "locked",
            "marked",
        ),
        *("mounted", "needed", "normalized", "parsed", "printed", "quoted", "recovered", "renamed", "replaced", "seen"),
        *("selected", "sent", "settled", "shortened", "shown", "spent", "staged", "started", "stored", "typed"),
        *("undelivered", "unfinished", "unmarked", "untrusted", "unverified", "used", "waited", "worked", "wrapped"),
    )
)
_VALUES = ("property", "cached_property")
_TESTS = Path(__file__).resolve().parent
# A test named by a pronoun, such as test_what_is_left, does not say which fact it proves.
_PRONOUN = re.compile(r"test_(?:(?:what|who|which|where|those)_|.*(?:whoever|somebody|anybody|nobody))")


def functions(source: str) -> Iterator[str]:
    """Yield the names of the public functions and methods of a module; a property is a value, and may have any name."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.name.startswith("_"):
            continue
        if not any(ast.unparse(decorator).endswith(_VALUES) for decorator in node.decorator_list):
            yield node.name


def test_no_function_is_called_by_a_participle_alone() -> None:
    """The words are those that were once names of functions, and had to be looked up."""
    found = {
        path.relative_to(PACKAGE).as_posix(): names
        for path in sorted(PACKAGE.rglob("*.py"))
        if (names := REFUSED.intersection(functions(path.read_text(encoding="utf-8"))))
    }
    assert found == {}


def test_the_walk_sees_methods_and_lets_properties_be() -> None:
    """A property is a value; private names are the module's own business."""
    source = "class A:\n    @property\n    def cut(self): ...\n    async def told(self): ...\n\ndef _kept(): ..."
    assert list(functions(source)) == ["told"]


def test_no_test_is_named_by_a_pronoun() -> None:
    """The name of each test names the things that its fact is about."""
    found = {
        path.relative_to(_TESTS).as_posix(): names
        for path in sorted(_TESTS.rglob("test_*.py"))
        if (names := [name for name in functions(path.read_text(encoding="utf-8")) if _PRONOUN.match(name)])
    }
    assert found == {}
