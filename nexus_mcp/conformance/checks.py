"""Compare an answer, or the files of a project, with the assertions of a fixture.

No tool is called here, and a function of the caller reads the files. Patterns are matched in a helper process, so a
check may take seconds. The tokens in the assertions must have been replaced before (tokens.replace_tokens).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from nexus_mcp.conformance import jsonpath, stopping
from nexus_mcp.conformance.document import Unparsable, count_values, parse_file
from nexus_mcp.conformance.evidence import record_assertion
from nexus_mcp.conformance.failures import Reply, explain_text
from nexus_mcp.conformance.fixture import WHOLE_TEXT, Asserts
from nexus_mcp.conformance.limits import LARGEST, VALUES
from nexus_mcp.conformance.matchers import format_value, mismatch
from nexus_mcp.conformance.result import MISSING, Assertion
from nexus_mcp.wording import place_of_byte

MUST_FAIL = "the call must fail"
"""The beginning of the message about a call that succeeds but must fail."""


def answer_checks(asserts: Asserts, reply: Reply, step: str = "") -> list[Assertion]:
    """Return the outcome of each assertion on an answer. `step` is "" for the postcondition.

    An answer that breaks the target's output schema, or whose text block differs from structuredContent, has a failed
    outcome also without an assertion.
    """
    found = _error_checks(asserts, reply, step)
    if reply.schema_fault:
        message = f"the answer breaks the target's own output schema: {reply.schema_fault}"
        found.append(record_assertion("schema", message, step))
    if reply.text_differs:
        message = f"the text block differs from structuredContent: {format_value(reply.text, 200)}"
        found.append(record_assertion("answer", message, step, seen=reply.text))
    if asserts.return_value and reply.payload is None:
        found.append(record_assertion("answer", describe_no_payload(reply), step, seen=reply.text))
    elif asserts.return_value:
        found += _values(asserts.return_value, reply.payload, kind="answer", step=step, file="")
    return found + _result_checks(asserts, reply, step)


def file_checks(asserts: Asserts, read: Callable[[str], bytes | None], step: str = "") -> list[Assertion]:
    """Return the outcome of each assertion on files.

    `read` returns the bytes of a file by its path from the project root, None when it does not exist. For a file of
    more than LARGEST bytes it returns at least LARGEST + 1 bytes.
    """
    found = []
    for path, wanted in asserts.state_files.items():
        stopping.check()
        data = read(path)
        if wanted is None:
            message = "" if data is None else "must be absent, but exists"
            seen = MISSING if data is None else f"({len(data)} bytes)"
            found.append(record_assertion("files", message, step, file=path, seen=seen))
        elif data is None:
            found.append(record_assertion("files", "is missing", step, file=path, seen=MISSING))
        elif not wanted:
            found.append(record_assertion("files", "", step, file=path))
        else:
            found += _content(wanted, data, step, path)
    return found


def _error_checks(asserts: Asserts, reply: Reply, step: str) -> list[Assertion]:
    message_shown = format_value(reply.message, 200)
    why = f" ({explain_text(reply)})" if reply.is_error and explain_text(reply) else ""
    if asserts.error or asserts.error_contains is not None:
        message = "" if reply.is_failure else f"{MUST_FAIL}{_wanted_error(asserts)}, but it succeeded (no isError)"
        found = [record_assertion("error", message, step, expected=True, seen=reply.is_failure)]
        if asserts.error_contains is not None and reply.is_failure:
            has = asserts.error_contains in reply.message
            message = (
                ""
                if has
                else f"the message must contain {format_value(asserts.error_contains, 200)}, is {message_shown}{why}"
            )
            found.append(record_assertion("error", message, step, expected=asserts.error_contains, seen=reply.message))
        return found
    if asserts.error is None and (not reply.is_failure or asserts_error_path(asserts)):
        return []
    message = f"the call must not fail: {message_shown}{why}" if reply.is_failure else ""
    return [record_assertion("error", message, step, expected=False, seen=reply.is_failure)]


def _wanted_error(asserts: Asserts) -> str:
    """Return ` with "…" in its error`, with the words that the fixture expects; "" if it expects none."""
    words = asserts.error_contains or (asserts.return_value or {}).get("$.error")
    return f" with {format_value(words, 200)} in its error" if words and isinstance(words, str) else ""


def _result_checks(asserts: Asserts, reply: Reply, step: str) -> list[Assertion]:
    """Return the outcomes for the whole result. The message of each failure names the result, because the paths look
    like those of a payload.
    """
    if asserts.result and reply.result is None:
        message = f"the answer is not the result of a call{': ' + format_value(reply.message) if reply.message else ''}"
        return [record_assertion("answer", message, step)]
    found = _values(asserts.result or {}, reply.result, kind="answer", step=step, file="")
    return [one if one.passed else replace(one, message=f"in the whole result: {one.message}") for one in found]


def describe_no_payload(reply: Reply) -> str:
    """Return the fault of an answer without a payload, with the text that it has and an explanation."""
    if not reply.message:
        return "the answer has no JSON payload: it has neither structuredContent nor a text"
    why = explain_text(reply)
    return f"the answer has no JSON payload: {format_value(reply.message, 200)}{f' ({why})' if why else ''}"


def asserts_error_path(asserts: Asserts) -> bool:
    """Return whether an assertion is about the `error` of the payload."""
    return any(jsonpath.compile(path).segments[:1] == ("error",) for path in asserts.return_value or ())


def _content(wanted: dict[str, Any], data: bytes, step: str, file: str) -> list[Assertion]:
    """Return the outcomes for the content of one file, its whole text included."""
    if len(data) > LARGEST:
        return [record_assertion("files", f"is larger than {LARGEST >> 20} MiB", step, file=file, seen=MISSING)]
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        message = f"is not UTF-8: {place_of_byte(error.object, error.start)}"
        return [record_assertion("files", message, step, file=file, seen=MISSING)]
    found = []
    if WHOLE_TEXT in wanted:
        message = mismatch(wanted[WHOLE_TEXT], text)
        found.append(
            record_assertion("files", message, step, file=file, path=WHOLE_TEXT, expected=wanted[WHOLE_TEXT], seen=text)
        )
    paths = {path: expected for path, expected in wanted.items() if path != WHOLE_TEXT}
    if not paths:
        return found
    if count_values(data, VALUES) > VALUES:
        return [
            *found,
            record_assertion("files", f"contains more than {VALUES:,} JSON values", step, file=file, seen=MISSING),
        ]
    try:
        document = parse_file(file, text)
    except Unparsable as error:
        message = f"is not JSON: {error}"
        return [*found, record_assertion("files", message, step, file=file, seen=MISSING)]
    return found + _values(paths, document, kind="files", step=step, file=file)


def _values(wanted: dict[str, Any], document: Any, *, kind: str, step: str, file: str) -> list[Assertion]:
    found = []
    for path, expected in wanted.items():
        stopping.check()
        node = jsonpath.compile(path).find(document)
        message = mismatch(expected, node.value)
        shape = "shape" if _names_keys(expected) else kind
        found.append(
            record_assertion(
                shape, message, step, file=file, path=path, expected=expected, seen=node.value, parent=node.parent
            )
        )
    return found


def _names_keys(expected: Any) -> bool:
    """Return whether the expected value names the keys of an object."""
    if isinstance(expected, list):
        return any(_names_keys(item) for item in expected)
    return isinstance(expected, dict) and "keys" in expected
