"""Secrets of the environment and of linked `.env` files are in no file of a run, and what the run reads back stays."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from nexus_mcp.run import events as ev
from nexus_mcp.run.redaction import Redactor
from tests.run.runs import GOOD, Ground

ENV = """\
# of the team
export STRIPE=sk_live_51Habcdefgh
PORT=8080
NODE_ENV=production
DATABASE_URL="postgres://app:hunter2hunter2@db/app"
PASSWORD='with "quotes" and ümlaut'
PRIVATE_KEY="-----BEGIN-----
MIIEvQIBADANBgkqhkiG9w0
-----END-----"
SIGNING_KEY=short
"""
SECRETS = ("sk_live_51Habcdefgh", "hunter2hunter2", 'with "quotes" and ümlaut', "MIIEvQIBADANBgkqhkiG9w0")


@pytest.fixture
def redactor(tmp_path: Path) -> Redactor:
    (tmp_path / ".env").write_text(ENV)
    return Redactor({}, root=str(tmp_path), links=[".env", "absent.env"])


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_of_a_linked_file_is_replaced(redactor: Redactor, secret: str) -> None:
    """In a text, in bytes, and in JSON of one and of two levels."""
    for text in (
        secret,
        json.dumps(secret),
        json.dumps(json.dumps({"a": secret})),
        json.dumps(secret, ensure_ascii=False),
    ):
        assert secret not in redactor.text(text)
        assert json.dumps(secret)[1:-1] not in redactor.text(text)
        assert redactor.data(text.encode()) == redactor.text(text).encode()


@pytest.mark.parametrize("plain", ["8080", "production", "short", "postgres://app:", "@db/app"])
def test_settings_of_a_linked_file_stay(redactor: Redactor, plain: str) -> None:
    """Numbers, words and short values are no secrets: they would be replaced everywhere."""
    assert redactor.text(plain) == plain


def test_only_env_files_are_read(tmp_path: Path) -> None:
    """A linked folder, a file with another name and a pipe that nobody writes to give nothing."""
    import os

    (tmp_path / "notes.txt").write_text("A_SECRET=sk_live_51Habcdefgh\n")
    (tmp_path / "b.env").mkdir()
    os.mkfifo(tmp_path / "c.env")
    found = Redactor({}, root=str(tmp_path), links=["notes.txt", "b.env", "c.env"])
    assert found.text("sk_live_51Habcdefgh") == "sk_live_51Habcdefgh"


def test_text_that_the_run_reads_back_stays(tmp_path: Path) -> None:
    """Paths, commits and ids of events are not changed, nor is the path that a variable such as AUTH_DIR holds."""
    found = Redactor({"MY_TOKEN": "worktrees", "AUTH_DIR": str(tmp_path), "GIT_AUTHOR_NAME": "Jane Roe Doe"})
    made = ev.WorktreeMade(path="/x/worktrees/1-1", branch="worktrees", fence=1)
    assert found.event(made) == made
    assert found.event(ev.Session(id="worktrees")) == ev.Session(id="worktrees")
    collected = found.event(ev.Collected(files=["worktrees/a"], last_message="in worktrees"))
    assert collected == ev.Collected(files=["worktrees/a"], last_message="in [MY_TOKEN]")
    assert found.text(f"{tmp_path} by Jane Roe Doe") == f"{tmp_path} by Jane Roe Doe"


def test_a_password_in_an_address_is_replaced() -> None:
    """The name of the variable does not tell, its value does."""
    found = Redactor({"REDIS_URL": "redis://:correct-horse@host:6379"})
    assert found.text("redis://:correct-horse@host:6379") == "redis://:[REDIS_URL]@host:6379"


def test_secrets_of_a_linked_file_are_in_no_file_of_the_run(tmp_path: Path) -> None:
    """Whatever shows them: the session, its stderr, a check, a verdict, a commit, a question, a command line."""
    secret = SECRETS[0]
    leak = [{"run": "cat .env; cat .env >&2; cp .env copy"}, {"say": f"the key is {secret}"}]
    bad = {**GOOD, "approved": False, "reasoning": f"I saw {secret}"}
    script = {"1-engineer": [leak, [{"say": f"STATUS: blocked\nIs {secret} right?"}]], "tester": [[{"verdict": bad}]]}
    task = {"id": 1, "title": "One", "owner": "engineer", "acceptance": f"{secret} works"}
    ground = Ground(tmp_path, [task], script, files={".gitignore": ".env\n"})
    (ground.root / ".env").write_text(ENV)
    fake = ground.config().drivers["fake"].model_dump()
    drivers = {"fake": {**fake, "command": [*fake["command"], secret], "resume": [*fake["command"], secret]}}
    ground.configure(review={"do": ["tester"]}, link=[".env"], checks={"test": "cat .env"}, drivers=drivers)
    assert ground.cli("--trust", "--merge", "never")[0] == 3
    state = ground.root / ".nexus/state"
    of_run = [*(state / "runs").rglob("*"), *(state / "artifacts").rglob("*")]
    files = {path.name: path.read_bytes() for path in of_run if path.is_file()}
    assert [name for name, data in files.items() if secret.encode() in data] == []
    wanted = {"events.jsonl", "transcript.jsonl", "stdout.raw", "stderr.txt", "diff.patch", "report.md", "command.json"}
    assert [name for name in {*wanted, "q1.json", "run.json"} if not re.search(rb"\\?\[STRIPE\\?\]", files[name])] == []
