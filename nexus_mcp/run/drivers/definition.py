"""A driver: how one harness is started for a session, and what its output means."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, get_args

from nexus_mcp.harness.session_mount import NOTHING, Mount
from nexus_mcp.run.events import Role

PROBE_TIMEOUT_S = 60
_MOST_TOKENS = 10**15


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """A session to start or to resume.

    `prompt` goes to stdin, or into a file if a template has `{prompt_file}`. `role_text` is the text of the agent,
    repeated at each resume. `resume` is the id of the session to resume, "" for a new one, whose id `session` proposes.
    `forbidden` are names of tools that the agent may not use. `folder` is the worktree, `scratch` a private folder for
    files of the attempt's sessions. `schema` is the JSON Schema of the last message, None for free text. `mount` has
    our server and hooks. `environ` has the variables that session, server and hooks get in addition to the executor's;
    some harnesses do not pass their own environment to a server.
    """

    role: Role
    agent: str
    prompt: str
    role_text: str
    model: str
    folder: str
    scratch: str
    session: str
    resume: str = ""
    forbidden: tuple[str, ...] = ()
    read_only: bool = False
    schema: Mapping[str, object] | None = None
    mount: Mount = NOTHING
    max_cost_usd: float | None = None
    unsafe: bool = False
    environ: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Command:
    """The command of a session. `files` maps absolute paths in the scratch folder to texts written before the start."""

    words: tuple[str, ...]
    stdin: bytes = b""
    environ: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


Kind = Literal["session", "model", "text", "tool_start", "tool_end", "usage", "error", "done", "result"]
KINDS = frozenset(get_args(Kind))


@dataclass(frozen=True, slots=True)
class Output:
    """One event in the output of a harness.

    `kind`: `session` (`text` is its id), `model` (its name), `text` (of the agent), `tool_start` (`text` is the tool's
    name, `arguments` its input, `file` the file that it edits or reads, `command` the command line of a shell, `tool`
    its name in the capability map if that differs), `tool_end` (`text` is its result; `failed`: it was refused or
    failed), `usage`, `error`, `done` (the session ended by itself), `result` (the last message). `call` is the id of a
    tool call, equal at its start and its end.
    """

    kind: Kind
    text: str = ""
    file: str = ""
    command: str = ""
    is_edit: bool = False
    tool: str = ""
    call: str = ""
    failed: bool = False
    arguments: Mapping[str, Any] | None = None
    input: int = 0
    output: int = 0
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Probe:
    """The result of looking for a harness on this machine. `path` is "" if its program is absent; `problem` says why it
    cannot be used.
    """

    path: str = ""
    version: str = ""
    can_resume: bool = True
    has_cost: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Login:
    """The login of a harness: `words` describe it for people. `found` says whether it exists, None if unknown.
    Without `is_needed` a session may work without a login.
    """

    words: str = "unknown: the harness has no command that shows it"
    found: bool | None = None
    is_needed: bool = True


Failure = Literal["environment", "limit", "login"]
Figure = Literal["tokens", "cost"]


class Driver(Protocol):
    """One harness.

    `format` is `text` if its output has no events; then silence does not mean that a session hangs. `tells_tools`: its
    output reports the start of a tool, not only the end. `totals` are the figures of `usage` that a resumed session
    counts from its very first process on. `login_command` is the command to log in, "" if unknown.
    """

    id: str
    format: Literal["jsonl", "text"]
    can_resume: bool
    tells_tools: bool
    totals: frozenset[Figure]
    login_command: str

    def probe(self) -> Probe:
        """Look for the harness on this machine, and return the result."""

    def login(self, path: str) -> Login:
        """Return whether the harness, whose program is `path`, is logged in, without a request to its service."""

    def command(self, request: SessionRequest) -> Command:
        """Return the command that starts the session."""

    def outputs(self, line: bytes) -> Iterable[Output]:
        """Return the events in one line of stdout; none for a line of another format."""

    def failure(self, code: int | None, stderr: str) -> Failure | None:
        """Return the reason why a session failed; None if its exit code and `stderr` do not show it.

        `stderr` begins with the error that the harness reported in its output, if it reported one.
        `login`: no user is logged in. `limit`: a limit of the account is reached. `environment`: a program cannot be
        started.
        """


def check_types(output: Output) -> Output | None:
    """Return the event with values of the right types, None for an event of an unknown kind.

    Other programs wrote the event, and an agent may print into the same stream: a malformed value must neither end the
    run nor lower its cost.
    """
    if not isinstance(output.kind, str) or output.kind not in KINDS:
        return None
    cost = output.cost_usd
    is_cost = isinstance(cost, int | float) and not isinstance(cost, bool) and 0 <= cost < float("inf")
    arguments = output.arguments
    return Output(
        output.kind,
        _text(output.text),
        file=_text(output.file),
        command=_text(output.command),
        is_edit=output.is_edit is True,
        tool=_text(output.tool),
        call=_text(output.call),
        failed=output.failed is True,
        arguments=arguments if isinstance(arguments, Mapping) else None,
        input=_tokens(output.input),
        output=_tokens(output.output),
        cost_usd=float(cost) if is_cost and cost is not None else None,
    )


def _text(value: object) -> str:
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else ""


def _tokens(value: object) -> int:
    return min(max(0, count(value)), _MOST_TOKENS)


def with_role(request: SessionRequest) -> str:
    """Return the text of the agent and then the prompt, for a harness without an option for the text of the agent."""
    return f"{request.role_text}\n\n{request.prompt}" if request.role_text else request.prompt


def json_object(line: bytes) -> dict[str, Any]:
    """Return the object in a line of output; {} for any other line."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def part(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return the object in a field of an event; {} for any other value."""
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def text_of(value: object) -> str:
    """Return the text of a result of a tool or of an error: a string, or blocks with `text`; else its JSON. None
    has the text "".
    """
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list) and all(isinstance(one, dict) and isinstance(one.get("text"), str) for one in value):
        return "\n".join(one["text"] for one in value)
    return json.dumps(value, ensure_ascii=False, default=str)


def count(value: object) -> int:
    """Return a number of tokens; 0 for a value that is no integer."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def why_failed(
    code: int | None, stderr: str, *, not_logged_in: Sequence[str], limited: Sequence[str]
) -> Failure | None:
    """Return why a session failed, by phrases of the harness in its output or exit code 127: see Driver.failure."""
    text = stderr.lower()
    if any(sign in text for sign in limited):
        return "limit"
    if any(sign in text for sign in not_logged_in):
        return "login"
    return "environment" if code == 127 else None


def probe_program(program: str, words: Sequence[str] = ("--version",), *, has_cost: bool = False) -> Probe:
    """Return the path and version of a program in PATH, or why it cannot be used. The program gets no stdin, and at
    most PROBE_TIMEOUT_S seconds.
    """
    path = shutil.which(program)
    if path is None:
        return Probe(problem=f"{program} is not in PATH")
    try:
        code, out = answer_of(path, *words)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Probe(path, problem=f"{program} --version did not answer: {type(error).__name__}")
    if code:
        return Probe(path, problem=f"{program} --version ended with {code}")
    return Probe(os.path.abspath(path), out.strip().split("\n")[0][:100], has_cost=has_cost)


def answer_of(path: str, *words: str) -> tuple[int, str]:
    """Return (exit code, stdout and stderr) of a program that gets no stdin. Raise OSError, TimeoutExpired."""
    done = subprocess.run(  # noqa: S603
        [path, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PROBE_TIMEOUT_S,
        check=False,
        text=True,
        errors="replace",
    )
    return done.returncode, done.stdout + done.stderr
