"""A driver: how one harness is started for a session, and what its output means."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from nexus_mcp.run.events import Role

PROBE_TIMEOUT_S = 20


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """A session to start or to resume.

    `prompt` goes to stdin. `role_text` is the text of the agent, repeated at each resume. `resume` is the id of the
    session to resume, "" for a new one, whose id `session` proposes. `forbidden` are names of tools that the agent may
    not use. `folder` is the worktree, `scratch` a private folder for files of this session. `schema` is the JSON Schema
    of the last message, None for free text. `serve` are the words that start our server, `hook` those of our hook.
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
    serve: tuple[str, ...] = ()
    hook: tuple[str, ...] = ()
    max_cost_usd: float | None = None
    unsafe: bool = False
    environ: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Command:
    """What starts a session. `files` maps absolute paths in the scratch folder to their texts, written before."""

    words: tuple[str, ...]
    stdin: bytes = b""
    environ: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Output:
    """One event in the output of a harness.

    `kind`: `session` (`text` is its id), `text` (of the agent), `tool_start` and `tool_end` (`text` is the tool's name,
    `file` the file of an edit, `tool` its name in the capability map where that is another one, `call` the id of the
    call; `failed`: it was refused, or came to nothing), `usage`, `error`, `done` (the session ended by itself),
    `result` (the last message).
    """

    kind: Literal["session", "text", "tool_start", "tool_end", "usage", "error", "done", "result"]
    text: str = ""
    file: str = ""
    is_edit: bool = False
    tool: str = ""
    call: str = ""
    failed: bool = False
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


class Driver(Protocol):
    """One harness. `format` is `text` if its output has no events; then silence does not mean that a session hangs."""

    id: str
    format: Literal["jsonl", "text"]
    can_resume: bool

    def probe(self) -> Probe:
        """Look for the harness on this machine, and return the result."""

    def command(self, request: SessionRequest) -> Command:
        """Return the command that starts the session."""

    def outputs(self, line: bytes) -> Iterable[Output]:
        """Return the events in one line of stdout; none for a line of another format."""

    def failure(self, code: int | None, stderr: str) -> Literal["environment", "limit"] | None:
        """Return why a session failed, as far as its exit code or stderr shows: `environment` if it is not logged in,
        `limit` for a limit of the account, else None.
        """


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


def count(value: object) -> int:
    """Return a number of tokens; 0 for a value that is no integer."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def why_failed(
    code: int | None, stderr: str, *, not_logged_in: Sequence[str], limited: Sequence[str]
) -> Literal["environment", "limit"] | None:
    """Return why a session failed, recognised by phrases of the harness in its output: see Driver.failure."""
    text = stderr.lower()
    if any(sign in text for sign in limited):
        return "limit"
    return "environment" if code == 127 or any(sign in text for sign in not_logged_in) else None


def probe_program(program: str, words: Sequence[str] = ("--version",), *, has_cost: bool = False) -> Probe:
    """Return the path and version of a program in PATH. It gets no stdin, and PROBE_TIMEOUT_S seconds."""
    path = shutil.which(program)
    if path is None:
        return Probe(problem=f"{program} is not in PATH")
    try:
        done = subprocess.run(  # noqa: S603
            [path, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_TIMEOUT_S,
            check=False,
            text=True,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Probe(path, problem=f"{program} --version did not answer: {type(error).__name__}")
    if done.returncode:
        return Probe(path, problem=f"{program} --version ended with {done.returncode}")
    return Probe(os.path.abspath(path), done.stdout.strip().split("\n")[0][:100], has_cost=has_cost)
