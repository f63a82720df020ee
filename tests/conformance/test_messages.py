"""Messages name the fault: answers without a payload, texts of SDKs, and the line of stderr that names an error."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from nexus_mcp.conformance.checks import answer_checks
from nexus_mcp.conformance.failures import Reply, error_line, explain_text, last_lines, quote_stderr
from nexus_mcp.conformance.fixture import Asserts
from nexus_mcp.conformance.report.causes import causes
from nexus_mcp.conformance.result import Assertion
from nexus_mcp.conformance.runner import run
from nexus_mcp.conformance.target import stdio
from nexus_mcp.errors import HarnessFault
from tests.conformance import runs
from tests.conformance.support import made

NODE = """node:internal/modules/cjs/loader:1148
  throw err;
  ^

Error: Cannot find module '/srv/dist/server.js'
    at Module._resolveFilename (node:internal/modules/cjs/loader:1145:15) {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}

Node.js v20.20.2
"""
PYTHON = """Traceback (most recent call last):
  File "server.py", line 3, in <module>
    raise ValueError("x")
ModuleNotFoundError: No module named 'mcp'
"""
GO = """2026/01/02 03:04:05 listening
panic: runtime error: index out of range [3] with length 3

goroutine 1 [running]:
main.main()
exit status 2
"""
RUST = "thread 'main' panicked at src/main.rs:4:5:\nno tools\nnote: run with RUST_BACKTRACE=1\n"
JAVA = 'Exception in thread "main" java.lang.IllegalStateException: closed\n\tat Main.main(Main.java:3)\n'
NPM = "npm ERR! code ENOENT\nnpm ERR! path /srv/package.json\n"
CONTRACT = 'an error must have {"error": "<message>"} in structuredContent and as the text'


@pytest.mark.parametrize(
    ("stderr", "line"),
    [
        (NODE, "Error: Cannot find module '/srv/dist/server.js'"),
        (PYTHON, "ModuleNotFoundError: No module named 'mcp'"),
        (GO, "panic: runtime error: index out of range [3] with length 3"),
        (RUST, "thread 'main' panicked at src/main.rs:4:5:"),
        (JAVA, 'Exception in thread "main" java.lang.IllegalStateException: closed'),
        (NPM, "npm ERR! code ENOENT"),
        ("sh: 1: tsx: not found\n", "sh: 1: tsx: not found"),
        ("warming up\nUncaught TypeError: x is not a function\n", "Uncaught TypeError: x is not a function"),
        ("error_handler installed\nErrors: see below is a title of ours\n", ""),
        ("listening\nready\n", ""),
        ("", ""),
    ],
)
def test_line_that_names_an_error_is_found(stderr: str, line: str) -> None:
    """The first line that names an error is found in what Node.js, Python, Go, Rust, Java, npm and a shell print."""
    assert error_line(stderr) == line


def test_stderr_without_an_error_is_quoted_by_its_end() -> None:
    """Where no line names an error, the last one is quoted; an empty stderr is not mentioned."""
    assert quote_stderr("ready\nno licence\n\n") == ' (the end of its stderr: "no licence")'
    assert quote_stderr(NODE) == """ (its stderr: "Error: Cannot find module '/srv/dist/server.js'")"""
    assert quote_stderr("\n") == ""


def test_last_lines_are_ten_and_printable() -> None:
    """The last ten lines that are not blank are shown, without control characters."""
    assert last_lines("\n".join(f"line {n}\n" for n in range(20)))[0] == "line 10"
    assert last_lines("a\x1b[31m\n") == ["a·[31m"]


def server(tmp_path: Path, text: str) -> tuple[str, ...]:
    path = tmp_path / "server.py"
    path.write_text(text)
    return (sys.executable, str(path))


def test_server_that_cannot_start_shows_its_error_and_its_last_lines(tmp_path: Path) -> None:
    """A server that ends at its start is reported with the line that names the error, then the last lines of stderr."""
    command = server(tmp_path, f"import sys; sys.stderr.write({NODE!r}); sys.exit(1)")
    with pytest.raises(HarnessFault) as caught:
        run([made({"action": {"tool": "task_add"}})], stdio(command))
    first, title, *lines = caught.value.faults
    assert first == (
        "The server did not become ready: it exited with code 1 (its stderr: "
        "\"Error: Cannot find module '/srv/dist/server.js'\")."
    )
    assert (title, lines[-1], len(lines)) == ("The end of its stderr:", "  Node.js v20.20.2", 9)


RESULT: dict[str, Any] = {"content": []}


@pytest.mark.parametrize(
    ("text", "happened"),
    [
        ("Error executing tool task_add: 1 validation error for x\n", "an SDK checked the arguments before the tool"),
        ("Error executing tool task_add: 'id'", "the tool raised an error, which its SDK caught"),
        ("Error executing tool task_add", "the tool raised an error, which its SDK caught"),
        ("MCP error -32602: Input validation error: Invalid arguments", "an SDK checked the arguments before the tool"),
        ("Input validation error: 'title' is required", "an SDK checked the arguments before the tool"),
        ("MCP error -32602: Tool task_add not found", "an SDK does not know the tool"),
        ("Unknown tool: task_add", "an SDK does not know the tool"),
        ('validating "arguments": missing properties', "an SDK checked the arguments before the tool"),
        ('[\n  {\n    "code": "invalid_type",\n', "a schema library's error is the message"),
    ],
)
def test_text_of_an_sdk_is_explained(text: str, happened: str) -> None:
    """An error that an SDK wrote in place of the tool is recognised, and the shape of the contract is named."""
    assert explain_text(Reply(text=text, is_error=True, result=RESULT)) == f"{happened}: {CONTRACT}"


def test_other_text_is_explained_by_the_contract() -> None:
    """Any other text gets the rule of the contract; a payload, an event and a protocol error get no explanation."""
    assert explain_text(Reply(text="no", is_error=True, result=RESULT)) == CONTRACT
    assert explain_text(Reply(text="fine", result=RESULT)).startswith("a success must have structuredContent")
    assert explain_text(Reply(payload={}, text="{}", result=RESULT)) == ""
    assert explain_text(Reply(text="died", is_error=True)) == ""
    assert explain_text(Reply(protocol_error="no", result=None)) == ""


def faults(asserts: Asserts, reply: Reply) -> list[tuple[str, str]]:
    return [(one.path, one.message) for one in answer_checks(asserts, reply) if not one.passed]


def test_answer_without_a_payload_says_so() -> None:
    """An answer without JSON is reported in words with its text, and not as a missing value at $."""
    asserts = Asserts(return_value={"$.error": "x"})
    assert faults(asserts, Reply(text="Title?", is_error=True, result=RESULT)) == [
        ("", f'the answer has no JSON payload: "Title?" ({CONTRACT})')
    ]
    assert faults(asserts, Reply(is_error=True, result=RESULT)) == [
        ("", "the answer has no JSON payload: it has neither structuredContent nor a text")
    ]


def test_error_of_an_sdk_is_explained_where_it_is_unexpected() -> None:
    """A call that must not fail, or must fail in other words, has the explanation beside the text."""
    reply = Reply(text="Unknown tool: x", is_error=True, result=RESULT)
    why = f"an SDK does not know the tool: {CONTRACT}"
    assert faults(Asserts(), reply) == [("", f'the call must not fail: "Unknown tool: x" ({why})')]
    assert faults(Asserts(error_contains="y"), reply)[-1:] == [
        ("", f'the message must contain "y", is "Unknown tool: x" ({why})')
    ]


def test_texts_of_one_sdk_have_one_cause() -> None:
    """Errors that an SDK words differently for each call are one cause."""
    every = [
        runs.failed(
            name, assertions=(Assertion("answer", False, f'the answer has no JSON payload: "{name}…" ({CONTRACT})'),)
        )
        for name in ("title is missing", "context (of it) is missing")
    ]
    (cause,) = causes(every)
    assert cause.title == f"answer: the answer has no JSON payload: {CONTRACT}"
