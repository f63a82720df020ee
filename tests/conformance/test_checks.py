"""Assertions on an answer or on files have the right outcome."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nexus_mcp.conformance.checks import answer_checks, file_checks
from nexus_mcp.conformance.failures import Reply
from nexus_mcp.conformance.fixture import Asserts
from nexus_mcp.conformance.result import MISSING, Assertion

FINE = Reply(payload={"a": 1}, text='{"a":1}')
MARKED = Reply(payload={"error": "Issue 3 not found"}, text="{}", is_error=True)
UNMARKED = Reply(payload={"error": "Issue 3 not found"}, text="{}")
BLUNT = Reply(text="it broke", is_error=True)
PROTOCOL = Reply(protocol_error="Unknown tool: x")


def kinds(found: list[Assertion]) -> list[tuple[str, bool]]:
    return [(one.kind, one.passed) for one in found]


@pytest.mark.parametrize("reply", [MARKED, UNMARKED, BLUNT, PROTOCOL])
def test_each_kind_of_error_counts_as_an_error(reply: Reply) -> None:
    """A marked answer, a protocol error and a payload with `error` all count as errors."""
    assert reply.is_failure is True
    assert answer_checks(Asserts(error=True), reply) == [Assertion("error", passed=True, expected=True, seen=True)]
    (told,) = answer_checks(Asserts(), reply, "step 1")
    assert told == Assertion(
        "error",
        passed=False,
        message=f'the call must not fail: "{reply.message}"',
        step="step 1",
        expected=False,
        seen=True,
    )
    assert answer_checks(Asserts(error=False), reply, "step 1") == [told]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (MARKED, "Issue 3 not found"),
        (BLUNT, "it broke"),
        (PROTOCOL, "Unknown tool: x"),
        (Reply(payload={"error": {"code": 5}}, text="said"), "said"),
        (Reply(payload={"error": "in the payload"}, text="said", protocol_error="x"), "in the payload"),
    ],
)
def test_error_message_comes_from_payload_protocol_or_text(reply: Reply, message: str) -> None:
    """The message is the payload's error, else the protocol's, else the first text."""
    assert reply.message == message
    assert kinds(answer_checks(Asserts(error_contains=message), reply)) == [("error", True), ("error", True)]


def test_success_in_place_of_an_error_fails_one_assertion() -> None:
    """A call that must fail and succeeds is one failed assertion, which names the wanted error."""
    missed = Assertion("error", False, "the call must fail, but it succeeded (no isError)", expected=True, seen=False)
    assert answer_checks(Asserts(error=True), FINE) == [missed]
    named = replace(missed, message='the call must fail with "x" in its error, but it succeeded (no isError)')
    assert answer_checks(Asserts(error_contains="x"), FINE) == [named]


def test_wrong_error_message_fails_one_assertion() -> None:
    """An error with another message fails the assertion on the message alone."""
    assert answer_checks(Asserts(error_contains="Issue 4"), MARKED) == [
        Assertion("error", passed=True, expected=True, seen=True),
        Assertion(
            "error",
            passed=False,
            message='the message must contain "Issue 4", is "Issue 3 not found"',
            expected="Issue 4",
            seen="Issue 3 not found",
        ),
    ]


def test_success_is_asserted_only_on_request() -> None:
    """The success of a call is an assertion only if the fixture states it."""
    assert answer_checks(Asserts(), FINE) == []
    assert answer_checks(Asserts(error=False), FINE) == [Assertion("error", passed=True, expected=False, seen=False)]


def test_assertion_on_the_error_expects_one() -> None:
    """An assertion on `$.error` means that an error is expected, in any spelling of the path."""
    for path in ("$.error", "$['error']", "$.error.length"):
        found = answer_checks(Asserts(return_value={path: {"type": "string"}}), UNMARKED)
        assert [one.kind for one in found] == ["answer"]
    assert kinds(answer_checks(Asserts(return_value={"$.errors": None}), UNMARKED)) == [
        ("error", False),
        ("answer", True),
    ]
    assert kinds(answer_checks(Asserts(return_value={"$.error": None}, error=False), UNMARKED))[0] == ("error", False)


def test_each_payload_assertion_has_its_own_result() -> None:
    """Each assertion on the payload has its own result, with the expected value, the actual value and the nearest
    parent.
    """
    asserts = Asserts(return_value={"$.a": 1.0, "$.b": None, "$.c[0]": 2, "$": {"keys": ["b"]}, "$.a.x": "y"})
    assert answer_checks(asserts, FINE, "step 2") == [
        Assertion("answer", True, "", "step 2", "", "$.a", 1.0, 1),
        Assertion("answer", True, "", "step 2", "", "$.b", None, MISSING, "$"),
        Assertion("answer", False, "must be 2, is missing", "step 2", "", "$.c[0]", 2, MISSING, "$"),
        Assertion(
            "shape",
            False,
            "lacks b, has a too; must have exactly the keys b",
            "step 2",
            "",
            "$",
            {"keys": ["b"]},
            {"a": 1},
        ),
        Assertion("answer", False, 'must be "y", is missing', "step 2", "", "$.a.x", "y", MISSING, "$['a']"),
    ]  # fmt: skip


def test_assertion_on_keys_counts_as_shape() -> None:
    """An assertion on the keys of an object is one of shape, within an array, too."""
    asserts = Asserts(return_value={"$.l": [{"keys": ["a"]}, 1], "$.m": [{"type": "number"}]})
    found = answer_checks(asserts, Reply(payload={"l": [{"a": 1}, 1], "m": [1]}))
    assert kinds(found) == [("shape", True), ("answer", True)]


def test_result_assertions_see_the_whole_result() -> None:
    """An assertion on the result sees the fields around the payload; the message of its failure says so."""
    whole = {"content": [{"type": "text", "text": "no"}], "isError": True}
    reply = Reply(text="no", is_error=True, result=whole)
    wanted = {"$": {"keys": ["content", "isError"]}, "$.content[0].text": "yes"}
    assert answer_checks(Asserts(result=wanted, error=True), reply, "step 1") == [
        Assertion("error", True, "", "step 1", expected=True, seen=True),
        Assertion("shape", True, "", "step 1", "", "$", wanted["$"], whole),
        Assertion(
            "answer",
            False,
            'in the whole result: must be "yes", is "no"',
            "step 1",
            "",
            "$.content[0].text",
            "yes",
            "no",
        ),
    ]
    unsaid = answer_checks(Asserts(result={"$.isError": True}), reply)
    assert kinds(unsaid) == [("error", False), ("answer", True)]


def test_protocol_error_has_no_result() -> None:
    """A protocol error has no result: no assertion on it holds, not even a null."""
    found = answer_checks(Asserts(result={"$.isError": None}, error=True), PROTOCOL)
    message = 'the answer is not the result of a call: "Unknown tool: x"'
    assert found[1:] == [Assertion("answer", False, message)]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Reply(text="no JSON"), 'the answer has no JSON payload: "no JSON"'),
        (Reply(), "the answer has no JSON payload: it has neither structuredContent nor a text"),
    ],
)
def test_missing_payload_matches_nothing(reply: Reply, message: str) -> None:
    """Without a payload nothing matches, not even a null."""
    found = answer_checks(Asserts(return_value={"$.a": None, "$.b": None}), reply)
    assert found == [Assertion("answer", False, message, seen=reply.text)]


def test_answer_that_breaks_its_own_schema_fails() -> None:
    """A payload that breaks the target's output schema is a failure, whatever is asserted."""
    found = answer_checks(Asserts(), Reply(payload={}, schema_fault="/a: is required"))
    assert found == [Assertion("schema", False, "the answer breaks the target's own output schema: /a: is required")]


def checked(wanted: Any, data: bytes | None, path: str = "a.json") -> list[Assertion]:
    return file_checks(Asserts(state_files={path: wanted}), {path: data}.get, "step 1")


def test_null_means_absent_and_empty_object_means_present() -> None:
    """null requires that the file is absent, {} that it exists with any content."""
    gone = Assertion("files", True, "", "step 1", "a.json", seen=MISSING)
    assert checked(None, None) == [gone]
    assert checked(None, b"12") == [
        Assertion("files", False, "must be absent, but exists", "step 1", "a.json", seen="(2 bytes)")
    ]
    assert checked({}, b"\xff{") == [Assertion("files", True, "", "step 1", "a.json")]
    missing = Assertion("files", False, "is missing", "step 1", "a.json", seen=MISSING)
    assert checked({}, None) == [missing]
    assert checked({"$.a": None}, None) == [missing]


def test_file_assertions_have_separate_outcomes() -> None:
    """Each assertion on a file has its own outcome, the one on its whole text too."""
    assert checked({"text": '{"a": [1]}', "$.a[0]": True, "$.a": [{"keys": []}]}, b'{"a": [1]}') == [
        Assertion("files", True, "", "step 1", "a.json", "text", '{"a": [1]}', '{"a": [1]}'),
        Assertion("files", False, "must be true, is 1", "step 1", "a.json", "$.a[0]", True, 1),
        Assertion("shape", False, "item 0 must be an object, is 1", "step 1", "a.json", "$.a", [{"keys": []}], [1]),
    ]


@pytest.mark.parametrize(
    ("path", "data", "message"),
    [
        ("a.json", b"", "is not JSON: line 1, column 1: Expecting value"),
        ("a.json", b'{\n "a": }', "is not JSON: line 2, column 7: Expecting value"),
        ("a.json", b'{"a": NaN}', "is not JSON: line 1, column 7: NaN is not JSON"),
        ("a.json", b'{"a": "\xff"}', "is not UTF-8: line 1, column 8"),
        ("a.json", b'{"a": [{"b": 1, "b": 1}]}', 'is not JSON: duplicate key in an object: "b"'),
        ("a.jsonl", b'{"":1,"":2}', 'is not JSON: duplicate key in an object: ""'),
        ("a.json", b"{}{}", "is not JSON: line 1, column 3: Extra data"),
        ("a.jsonl", b"{}\n\n{\n", "is not JSON: line 3, column 2: Expecting property name enclosed in double quotes"),
    ],
)
def test_malformed_file_is_one_failed_assertion(path: str, data: bytes, message: str) -> None:
    """A file that does not parse is one failed assertion, with line and column; a null does not match in it."""
    assert checked({"$.a": None, "$.b": 1}, data, path) == [
        Assertion("files", False, message, "step 1", path, seen=MISSING)
    ]


def test_text_of_a_file_is_asserted_without_json() -> None:
    """The text of a file can be asserted even if it is not JSON."""
    assert kinds(checked({"text": "# notes\n"}, b"# notes\n", "a.md")) == [("files", True)]
    assert kinds(checked({"text": "# notes", "$.a": 1}, b"# notes\n", "a.md")) == [("files", False), ("files", False)]


def test_jsonl_file_is_read_as_an_array() -> None:
    """The document of a .jsonl file is the array of its lines, without the blank ones."""
    found = checked({"$.length": 2, "$[1].a": 2, "$[2]": None}, b'{"a":1}\r\n \n\n{"a":2}', "x/a.jsonl")
    assert kinds(found) == [("files", True)] * 3
    assert kinds(checked({"$.length": 0}, b"", "a.jsonl")) == [("files", True)]


def test_text_that_differs_from_structured_content_fails() -> None:
    """A text block that differs from structuredContent fails even without an assertion."""
    (told,) = answer_checks(Asserts(), Reply(payload={"a": 1}, text='{"a":2}', text_differs=True), "step 1")
    assert (told.kind, told.passed, told.step, told.seen) == ("answer", False, "step 1", '{"a":2}')
    assert told.message.startswith("the text block differs from structuredContent")
    assert answer_checks(Asserts(), FINE) == []
