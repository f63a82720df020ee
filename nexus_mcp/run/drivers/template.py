"""Any other harness as a driver, from a template in the config."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable
from typing import Literal

from nexus_mcp.run.config import DriverTemplate
from nexus_mcp.run.drivers.definition import Command, Failure, Figure, Login, Output, Probe, SessionRequest, with_role

PROMPT_FILE = "{prompt_file}"
_WORDS = ("session", "resume", "model", "agent", "folder")


class TemplateDriver:
    """A driver from a template. A session is no success, even with exit code 0, unless its output matches the pattern
    `done` of the template or has an event `done`.

    In `format: jsonl` a line may be an object as in definition.Output: `{"kind": "text", "text": "…"}`.
    """

    tells_tools = True
    totals: frozenset[Figure] = frozenset()
    login_command = ""

    def __init__(self, name: str, template: DriverTemplate) -> None:
        self.id = name
        self.format: Literal["jsonl", "text"] = template.format
        self.can_resume = bool(template.resume)
        self._template = template
        self._done = re.compile(template.done) if template.done else None

    def probe(self) -> Probe:
        program = self._template.command[0]
        path = shutil.which(program)
        problem = "" if path else f"{program} is not in PATH"
        return Probe(os.path.abspath(path) if path else "", can_resume=self.can_resume, problem=problem)

    def login(self, path: str) -> Login:  # noqa: ARG002
        return Login()

    def command(self, request: SessionRequest) -> Command:
        template = self._template.resume if request.resume and self.can_resume else self._template.command
        path = os.path.join(request.scratch, "prompt.md")
        prompt = with_role(request)
        has_file = any(PROMPT_FILE in word for word in template)
        values = {name: getattr(request, name) for name in _WORDS}
        words = tuple(_fill(word, {**values, "prompt_file": path}) for word in template)
        files = {path: prompt} if has_file else {}
        return Command(words, b"" if has_file else prompt.encode(), request.environ, files)

    def outputs(self, line: bytes) -> Iterable[Output]:
        text = line.decode(errors="replace")
        done = None if self._done is None else self._done.search(text[:10_000])
        found: list[Output] = []
        if self.format == "jsonl":
            found += _own_event(text)
        elif text.strip() and (done is None or done[0].strip() != text.strip()):  # a line with only the mark is no text
            found.append(Output("text", text))
        if done is not None:
            found.append(Output("done"))
        return found

    def failure(self, code: int | None, stderr: str) -> Failure | None:  # noqa: ARG002
        return "environment" if code in (126, 127) else None


def _fill(word: str, values: dict[str, str]) -> str:
    """Return the word with each `{name}` of the table replaced once; other braces stay."""
    return re.sub(r"\{(\w+)\}", lambda match: values.get(match[1], match[0]), word)


def _own_event(text: str) -> list[Output]:
    try:
        value = json.loads(text)
        return [Output(**value)] if isinstance(value, dict) and "kind" in value else []
    except (ValueError, TypeError, RecursionError):
        return []
