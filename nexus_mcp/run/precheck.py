"""Check before a run whether repository, tasks, harness, checks or disk would stop it. Each item is a row of the
output.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from nexus_mcp.errors import NexusError, UsageError
from nexus_mcp.run import earlier, sandbox
from nexus_mcp.run.checks import CheckResult
from nexus_mcp.run.config import RunConfig, Trigger
from nexus_mcp.run.drivers import DRIVERS, driver
from nexus_mcp.run.environment_faults import check_fault
from nexus_mcp.run.git import Git
from nexus_mcp.run.ready import waves
from nexus_mcp.state.tasks import COMPLETED
from nexus_mcp.store.run_files import LOCK, holder
from nexus_mcp.wording import join_first

if TYPE_CHECKING:
    from nexus_mcp.catalog.load import Catalog
    from nexus_mcp.store.store import Store

TierOfItem = Literal["blocker", "warning"]
NO_TASKS = "there is nothing to do: type [plan] in a session of your agent, or let it call task_add"
_HARNESS = "harness "
_DISK_PER_JOB = 1 << 30
_MOST_CLAUSES = 6
_MOST_CHARACTERS = 2000
_MOST_BULLETS = 8
_TEXTS = ("context", "approach", "acceptance", "risk")
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s", re.MULTILINE)
_CLAUSE = re.compile(r"[;\n]|\band\b", re.IGNORECASE)
_APPROVALS: tuple[Trigger, ...] = ("security-review", "pre-merge", "review-gate")
"""Triggers whose answer can approve a merge."""
_SECRET = re.compile(r"(?i)(^|/)(\.env(\..*)?|.*secret.*|.*credential.*|id_[a-z0-9]+|.*\.pem|.*\.key)$")
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Item:
    """One row of the precheck. A `blocker` that has not `passed` stops the run; a `warning` only changes the exit code
    of `run precheck --strict`.
    """

    name: str
    tier: TierOfItem
    passed: bool
    message: str

    def row(self) -> dict[str, Any]:
        """Return the row as a JSON object."""
        return {"name": self.name, "tier": self.tier, "passed": self.passed, "message": self.message}


@dataclass(frozen=True, slots=True)
class Subject:
    """The input of the precheck. `tasks` is tasks.json, `chosen` the ids that the run works on, None for all."""

    root: str
    store: Store
    config: RunConfig
    catalog: Catalog
    tasks: Mapping[str, Any]
    chosen: Sequence[int] | None = None


async def examine(subject: Subject) -> list[Item]:
    """Check the subject, and return its items; `of_checks` returns the items of the project's own checks. Raise
    GitFailed, StateError, StorageError, PathRefused.
    """
    found = [*await _of_git(subject), _of_lock(subject), await _of_earlier_run(subject)]
    found += _of_tasks(subject)
    found += _of_harnesses(subject)
    wrong = sandbox.problem(subject.config)
    found.append(_item("sandbox", not wrong, _describe_sandbox(subject.config.sandbox), wrong))
    return [*found, *_of_questions(subject), _of_disk(subject), _of_links(subject)]


def of_checks(results: Mapping[str, CheckResult], config: RunConfig) -> list[Item]:
    """Return an item with result and duration for each of the project's own checks, which were run before the work.

    A failing check is a warning: the run compares later results with it, and only new failures count. A check that
    could not run, for example on a full disk, excuses no later failure. A project without checks gets a warning.
    """
    found = [
        Item(
            f"check {name}",
            "warning",
            one.ok,
            f"passes, {one.seconds:.1f} s"
            if one.ok
            else check_fault(name, one.code, one.output)
            or f"fails already ({one.seconds:.1f} s): only new failures will count",
        )
        for name, one in results.items()
    ]
    if config.active_checks():
        return found
    advice = "no checks are set: set run.checks in .nexus/config.yml, or only reviewers judge the work"
    return [*found, Item("checks", "warning", passed=False, message=advice)]


def exit_code_of(items: Sequence[Item], *, strict: bool) -> Literal["ok", "warning", "blocker"]:
    """Return the severity of the worst item that has not passed, `ok` if there is none. A warning counts only with
    `strict`.
    """
    failed = {item.tier for item in items if not item.passed}
    if "blocker" in failed:
        return "blocker"
    return "warning" if strict and failed else "ok"


async def _of_git(subject: Subject) -> list[Item]:
    root, git = subject.root, Git(subject.root)
    try:
        code, top = await git.run("rev-parse", "--show-toplevel", check=False)
    except OSError as error:
        return [_bad("repository", f"git cannot be started: {error.strerror}")]
    if code:
        return [_bad("repository", "this project is no git repository: attempts work in git worktrees")]
    if os.path.realpath(top.strip()) != os.path.realpath(root):
        return [_bad("repository", "the project is a folder inside of a repository: run at its top")]
    found = [Item("repository", "blocker", passed=True, message="a git repository")]
    code, _ = await git.run("rev-parse", "--verify", "--quiet", "HEAD^{commit}", check=False)
    found.append(_item("commit", code == 0, "it has a commit", "it has no commit yet: attempts start from one"))
    changed = await git.names("diff", "--name-only", "HEAD") if code == 0 else []
    unmerged = await git.names("diff", "--name-only", "--diff-filter=U")
    with subject.store.state_as_it_is() as state:
        half = earlier.half_moved(state)
    dirty = f"uncommitted changes, which attempts do not see: commit or stash {_list(changed)}"
    if half:
        dirty = f"git stopped while it moved your branch, and left {_list(changed)}: type nexus-mcp run merge {half}"
    found.append(_item("working tree", not changed, "no uncommitted changes", dirty))
    found.append(_item("conflicts", not unmerged, "no unresolved conflicts", f"unresolved: {_list(unmerged)}"))
    others = [name for name in await git.names("ls-files", "--others", "--exclude-standard") if name]
    untracked = f"attempts do not see them: {_list(others)}"
    found.append(_item("untracked files", not others, "none", untracked, "warning"))
    code, _ = await git.run("var", "GIT_COMMITTER_IDENT", check=False)
    no_name = "git knows no name for commits: set user.name and user.email"
    found.append(_item("git user", code == 0, "git has a name for commits", no_name))
    code, _ = await git.run("rev-parse", "--verify", "--quiet", "refs/heads/nexus", check=False)
    in_way = "your branch nexus is in the way of the branches nexus/RUN/…: rename it by git branch -m nexus NAME"
    found.append(_item("branches", code != 0, "no branch is in the way", in_way))
    has_modules = os.path.exists(os.path.join(root, ".gitmodules"))
    modules = "submodules are empty in worktrees: add `git submodule update --init` to run.setup"
    is_filled = not has_modules or any("submodule" in line for line in subject.config.setup)
    found.append(_item("submodules", is_filled, "none, or setup fills them", modules, "warning"))
    return found


async def _of_earlier_run(subject: Subject) -> Item:
    """Return the item on whether the checkout has the work of the newest run: tasks may depend on this work."""
    with subject.store.state_as_it_is() as state:
        try:
            left = await earlier.run_to_merge(state, subject.root)
        except OSError:  # git is missing, which another item reports
            left = ""
    advice = (
        f"HEAD lacks the work of {left}, so the attempts will lack it: nexus-mcp run merge {left} moves your branch"
    )
    return _item("earlier run", not left, "its work is in your branch, or there is none", advice, "warning")


def _of_lock(subject: Subject) -> Item:
    with subject.store.state_as_it_is() as state:
        at_work = None if state is None else holder(state)
    held = "" if at_work is None else f"another run is at work: {at_work.describe()}"
    return _item("lock", at_work is None, f"no other run holds {LOCK}", held)


def _of_tasks(subject: Subject) -> Iterator[Item]:
    rows = list(subject.tasks["tasks"])
    ids = {task["id"] for task in rows}
    unknown = [id_ for id_ in subject.chosen or () if id_ not in ids]
    mine = [task for task in rows if subject.chosen is None or task["id"] in subject.chosen]
    left = [task for task in mine if task["status"] != COMPLETED]
    nothing = NO_TASKS
    found = f"{len(left)} of {len(mine)} tasks are left" if left else nothing
    yield _item(
        "tasks", bool(left) and not unknown, found, f"there is no task {_list(unknown)}" if unknown else nothing
    )
    missing = [f"{task['id']} on {dep}" for task in mine for dep in task.get("deps", ()) if dep not in ids]
    yield _item("dependencies", not missing, "all exist", f"the dependency does not exist: {_list(missing)}")
    known = [{**task, "deps": [dep for dep in task.get("deps", ()) if dep in ids]} for task in rows]
    reached = {id_ for wave in waves(known) for id_ in wave}
    circle = [task["id"] for task in left if task["id"] not in reached]
    yield _item("cycle", not circle, "no cycle", f"tasks depend on each other in a cycle: {_list(circle)}")
    owners = [task for task in left if task.get("owner")]
    strange = [f"{task['id']}: {task['owner']}" for task in owners if task["owner"] not in subject.catalog.agents]
    plain = "no agent of the catalog has this name, so the task gets a plain session"
    yield _item("owners", not strange, "all known", f"{plain}: {_list(strange)}", "warning")
    bare = [task["id"] for task in left if not str(task.get("acceptance", "")).strip()]
    yield _item(
        "acceptance", not bare, "all have one", f"missing, so a reviewer can only guess: {_list(bare)}", "warning"
    )
    large = [task["id"] for task in left if _is_large(task)]
    size = f"more than {_MOST_CLAUSES} clauses, {_MOST_CHARACTERS} characters or {_MOST_BULLETS} bullets: split"
    yield _item("size", not large, "all fit one session", f"{size} {_list(large)}", "warning")


def _is_large(task: Mapping[str, Any]) -> bool:
    text = "\n".join(str(task.get(name) or "") for name in _TEXTS)
    clauses = [part for part in _CLAUSE.split(str(task.get("acceptance") or "")) if part.strip()]
    return len(clauses) > _MOST_CLAUSES or len(text) > _MOST_CHARACTERS or len(_BULLET.findall(text)) > _MOST_BULLETS


def _of_harnesses(subject: Subject) -> Iterator[Item]:
    config = subject.config
    for name in dict.fromkeys((config.harness_for("do"), config.harness_for("check"))):
        try:
            probe = driver(name, config).probe()
        except UsageError as error:
            yield _bad(f"{_HARNESS}{name}", str(error))
            continue
        if probe.problem:
            yield _bad(f"{_HARNESS}{name}", f"{probe.problem}: {_other_harness(name, config)}")
            continue
        yield Item(f"{_HARNESS}{name}", "blocker", passed=True, message=f"{probe.path} {probe.version}".strip())
        login = driver(name, config).login(probe.path)
        tier: TierOfItem = "blocker" if login.is_needed else "warning"
        yield Item(f"login of {name}", tier, login.found is not False, login.words)
        if config.max_cost_usd is not None:
            yield _of_cost(name, config, config.max_cost_usd, has_cost=probe.has_cost)
        yield from _installation(subject.root, name)


def _of_cost(name: str, config: RunConfig, limit: float, *, has_cost: bool) -> Item:
    """Return the item on whether a limit in USD can be enforced: that needs the cost of each session, or tokens and
    prices.

    A driver of `run.drivers` may report its cost in lines of JSON; only its first session shows whether it does.
    """
    has_events = driver(name, config).format == "jsonl"
    is_priced = has_cost or (bool(config.prices) and has_events)
    step = "set run.prices, or leave the limit out" if has_events else "leave the limit out"
    advice = f"{name} reports no cost, so a limit of {limit:g} USD cannot be enforced: {step}"
    tier: TierOfItem = "warning" if has_events and name in config.drivers else "blocker"
    return _item(f"cost of {name}", is_priced, "its cost is known", advice, tier)


def _other_harness(name: str, config: RunConfig) -> str:
    """Return what to do about a harness that cannot be started."""
    others = [one for one in (*DRIVERS, *config.drivers) if one != name]
    here = [one for one in others if not driver(one, config).probe().problem]
    instead = f"such as {here[0]}, which is installed" if here else f"one of {', '.join(others)}"
    return f"install it, or name another harness in run.harness, {instead}"


def _installation(root: str, name: str) -> Iterator[Item]:
    """Yield the item on whether the entries of `nexus-mcp install` are unchanged; none for a harness that `install`
    does not know. Only the user's own sessions use the entries; a run configures its sessions itself.
    """
    from nexus_mcp.harness import HARNESSES
    from nexus_mcp.harness.definition import Site
    from nexus_mcp.harness.installing import read_record
    from nexus_mcp.harness.status import drift

    if name not in HARNESSES:
        return
    site = Site("project", root, os.environ)
    try:
        problems = drift(site, read_record(site), name)
    except NexusError as error:
        problems = [str(error)]
    yield _item(f"installation {name}", not problems, "unchanged", "; ".join(problems[:3]), "warning")


def only_harness_is_missing(items: Sequence[Item]) -> bool:
    """Return whether nothing but the harness stops a run: the configuration or the command line names one that cannot
    be used.
    """
    blockers = [item.name for item in items if item.tier == "blocker" and not item.passed]
    return bool(blockers) and all(name.startswith(_HARNESS) for name in blockers)


def _describe_sandbox(sandbox_: object) -> str:
    return "none: the guards see what an attempt does to your checkout" if sandbox_ == "none" else "found"


def _of_questions(subject: Subject) -> list[Item]:
    """Return the item on whether an agent could answer in place of the person; [] if no trigger that asks can approve a
    merge.
    """
    open_ = [name for name in _APPROVALS if subject.config.questions.asks(name)]
    text = (
        f"without run.sandbox an agent, which runs as your user, could answer {_list(open_)} itself, by a file in the "
        "run's folder"
    )
    is_safe = subject.config.sandbox != "none"
    return [_item("questions", is_safe, "only people can answer", text, "warning")] if open_ else []


def _of_disk(subject: Subject) -> Item:
    place = os.path.expanduser(subject.config.worktrees)
    while not os.path.isdir(place) and os.path.dirname(place) != place:
        place = os.path.dirname(place)
    free, wanted = shutil.disk_usage(place).free, subject.config.jobs * _DISK_PER_JOB
    message = f"{free / (1 << 30):.1f} GiB free in {place}"
    return _item("disk", free >= wanted, message, f"{message}, and {subject.config.jobs} jobs want 1 GiB each")


def _of_links(subject: Subject) -> Item:
    secret = [link for link in subject.config.link if _SECRET.search(link)]
    text = f"agents will be able to read {_list(secret)}: link only what they need"
    return _item("linked secrets", not secret, "none", text, "warning")


def _item(name: str, passed: bool, good: str, bad: str, tier: TierOfItem = "blocker") -> Item:  # noqa: FBT001
    return Item(name, tier, passed, good if passed else bad)


def _bad(name: str, message: str) -> Item:
    return Item(name, "blocker", passed=False, message=message)


def _list(values: Sequence[object]) -> str:
    return join_first(values, _SHOWN)
