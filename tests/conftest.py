"""Fixtures of the whole suite, and the guard that keeps tests away from the real home and the checkout's own state."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from tests import parts
from tests.support import Client, Clock, Project

if TYPE_CHECKING:
    from nexus_mcp.server.app import App

CHECKOUT = Path(__file__).resolve().parent.parent
REAL_HOME = Path(os.path.expanduser("~")).resolve()  # before the guard moves it
_OWN = str(CHECKOUT / ".nexus")
_ALLOWED = tuple(
    str(Path(entry).resolve())
    for entry in {*sys.path, sys.prefix, sys.base_prefix, str(CHECKOUT), tempfile.gettempdir()}
    if entry
)
_PATH_EVENTS = {
    "open": (0,),
    "os.mkdir": (0,),
    "os.rename": (0, 1),
    "os.remove": (0,),
    "os.rmdir": (0,),
    "os.link": (0, 1),
    "os.symlink": (1,),
    "os.listdir": (0,),
    "os.scandir": (0,),
    "os.chmod": (0,),
    "os.truncate": (0,),
}


def _hear_signals() -> None:
    """Restore the signal handling that a shell changes for background commands, as nohup does: tests send these signals
    to processes.

    An ignored signal stays ignored in every process begun from here; a handled one is back at its default there.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    hangup = getattr(signal, "SIGHUP", None)  # Windows has none
    if hangup is not None and signal.getsignal(hangup) is signal.SIG_IGN:
        signal.signal(hangup, lambda *_: None)


_hear_signals()
# Texts name the program as the PATH has it: here by its bare name.
os.environ["PATH"] = os.pathsep.join((os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)))

# Thousands of tests are kept from the collection on; looking through all of them finds nothing.
gc.set_threshold(20_000, 20, 50)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of our tests."""
    parts.add_option(parser)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Read no module without a test of the part that `--part` names."""
    return parts.is_ignored(collection_path, config.getoption("--part")) or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the part that `--part` names."""
    part = config.getoption("--part")
    if part is not None:
        left_out = [item for item in items if parts.is_long(item) != (part == "long")]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if parts.is_long(item) == (part == "long")]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Exclude the objects that exist before the first test from garbage collection, here and in every fork."""
    gc.collect()
    gc.freeze()
    # What the tests leave is nearly all garbage, and would add up to a gigabyte. Python collects the oldest generation
    # when it has grown by a quarter since the last time: this counts it without what is frozen.
    gc.collect()
    gc.set_threshold(20_000, 5, 2)


# How long an example takes depends on what else the machine does.
hypothesis.settings.register_profile("nexus", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
# The long form of a test that takes the number of its examples from the profile.
hypothesis.settings.register_profile("long", hypothesis.settings.get_profile("nexus"), max_examples=2400)
hypothesis.settings.load_profile("nexus")


class _Guard:
    """Refuses and remembers every touch of the real home or of the checkout's `.nexus`, while a test runs.

    Remembering matters: code under test may swallow the refusal.
    """

    def __init__(self) -> None:
        self.active = False
        self.home = str(REAL_HOME)
        self.touched: list[str] = []

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.active or event not in _PATH_EVENTS:
            return
        for index in _PATH_EVENTS[event]:
            path = arguments[index]
            if isinstance(path, bytes):
                path = os.fsdecode(path)
            if isinstance(path, str) and forbidden(path):
                self.touched.append(f"{event} {path}")
                raise PermissionError(f"this test touches {path}")


def forbidden(path: str) -> bool:
    """True for a path in the checkout's `.nexus`, or in the real home but in none of the interpreter's own folders."""
    full = os.path.abspath(path)
    if _below(full, _OWN):
        return True
    home = _GUARD.home
    return home != "/" and _below(full, home) and not any(_below(full, entry) for entry in _ALLOWED)


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + os.sep)


_GUARD = _Guard()
sys.addaudithook(_GUARD)


def watch(home: Path) -> None:
    """Guard this process to its end: one that a test began, whose HOME is the test's own and not the real `home`."""
    _GUARD.home = str(home)
    _GUARD.active = True


@pytest.fixture(autouse=True)
def guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[_Guard]:
    """Home, XDG folders and working directory point into the test's own folder; no NEXUS_ variable is set."""
    home, away = tmp_path / "home", tmp_path / "away"
    home.mkdir()
    away.mkdir()
    for name in [name for name in os.environ if name.startswith(("NEXUS_", "XDG_", "GIT_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    for name in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.chdir(away)
    _GUARD.touched.clear()
    _GUARD.active = True
    try:
        yield _GUARD
    finally:
        _GUARD.active = False
    assert _GUARD.touched == []


@pytest.fixture
def fast_path() -> Iterator[Path]:
    """Return a folder for the test, in memory if possible: there fsync is free."""
    folder = tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    yield Path(folder).resolve()
    shutil.rmtree(folder)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty git repository on branch main, made without a git process."""
    return make_project(tmp_path / "project")


def make_project(root: Path) -> Project:
    """Make an empty git repository on branch main in `root`."""
    git = root / ".git"
    for folder in (git / "objects", git / "refs" / "heads"):
        folder.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    return Project(root.resolve())


@pytest.fixture
def real_repository(tmp_path: Path) -> Project:
    """A repository made by git itself, with one commit on branch main."""
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    git(root, "commit", "-q", "--allow-empty", "-m", "First")
    return Project(root.resolve())


def git(where: Path, *arguments: str) -> str:
    """Run git in a folder with an identity of its own."""
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.invalid"]
    done = subprocess.run(["git", *identity, *arguments], cwd=where, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make_app(clock: Clock) -> Callable[..., App]:
    """Make the tool table over a folder: make_app(root, prefix="", harness_id="nexus-mcp")."""

    def make(root: Path, prefix: str = "", harness_id: str = "nexus-mcp") -> App:
        from nexus_mcp.server.app import App
        from nexus_mcp.workspace import Workspace

        return App(Workspace(str(root), harness_id), prefix, now=clock)

    return make


@pytest.fixture
def app(make_app: Callable[..., App], project: Project) -> App:
    return make_app(project.root)


@pytest.fixture
def call(app: App, project: Project) -> Client:
    """The client of the project: call("plan_start", topic=…) → structured content; call.error(…) → message."""
    return Client(app, project, output_check(app))


@pytest.fixture
def client_for(make_app: Callable[..., App]) -> Callable[[Project], Client]:
    """A client of a project of the test's own making."""

    def make(project: Project) -> Client:
        made = make_app(project.root)
        return Client(made, project, output_check(made))

    return make


def output_check(app: App) -> Callable[[str, Any], None]:
    """A check of every answer against the output schema its tool advertises, by the reference validator."""
    from jsonschema import Draft202012Validator

    validators = {tool["name"]: Draft202012Validator(tool["outputSchema"]) for tool in app.tools()}

    def check(tool: str, content: Any) -> None:
        validators[tool].validate(content)

    return check


@pytest.fixture(scope="session")
def schema_errors() -> Callable[[str, Any], list[str]]:
    """Return the faults that the reference validator finds: schema_errors("plan", value) → one text per fault."""
    return state_errors()


def state_errors() -> Callable[[str, Any], list[str]]:
    import json

    from jsonschema import Draft202012Validator
    from referencing import Registry, Resource

    folder = CHECKOUT / "schemas" / "state"
    documents = {
        path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.schema.json"))
    }
    registry: Any = Registry().with_resources((name, Resource.from_contents(body)) for name, body in documents.items())

    def errors(name: str, value: Any) -> list[str]:
        validator = Draft202012Validator({"$ref": f"{name}.schema.json"}, registry=registry)
        return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)]

    return errors
