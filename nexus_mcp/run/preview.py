"""Preview a run without starting anything: order, waves, agents, tiers, commands, checks, and numbers of sessions."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from nexus_mcp.catalog.capabilities import forbidden_tools
from nexus_mcp.catalog.load import Catalog
from nexus_mcp.harness.session_mount import Mount
from nexus_mcp.run import routing, sandbox
from nexus_mcp.run.config import RunConfig
from nexus_mcp.run.drivers import driver
from nexus_mcp.run.drivers.definition import SessionRequest
from nexus_mcp.run.git_files import global_config_files
from nexus_mcp.run.ready import waves
from nexus_mcp.run.setup import ChooseModel, Options
from nexus_mcp.run.stages import SESSIONS
from nexus_mcp.state.tasks import COMPLETED

_WORKTREE, _WORKTREES, _SCRATCH = "/WORKTREE", "/WORKTREES", "/SCRATCH"
"""Placeholders for the worktree of an attempt, the folder of all worktrees, and the folder of a session's files."""


@dataclass(frozen=True, slots=True)
class TaskPreview:
    """The preview of one task. `wave` counts from 1; 0: the task is in a cycle, or depends on one or on a missing task.

    `command` starts the first session of the task, with the server, the hooks and the sandbox; `files` are the files
    that the driver needs for this command, `environ` the variables that it adds. `sessions` estimates the most sessions
    for the task: each attempt of the tiers has the first round and `mend` more rounds, and each round runs all sessions
    of the strategy, and each review twice. The advisor, and attempts that do not count, are left out.
    """

    id: int
    title: str
    wave: int
    deps: list[int]
    agent: str
    strategy: str
    tier: str
    harness: str
    model: str
    command: list[str]
    files: list[str]
    environ: dict[str, str]
    checks: list[str]
    reviewers: list[str]
    sessions: int

    def row(self) -> dict[str, Any]:
        """Return the preview as a JSON object."""
        return asdict(self)


def preview(
    tasks: list[dict[str, Any]],
    config: RunConfig,
    options: Options,
    catalog: Catalog,
    models: Mapping[str, ChooseModel],
    *,
    has_tests: bool,
    mount: Callable[[str, str, str], Mount],
    root: str,
) -> list[TaskPreview]:
    """Return the previews of the tasks that the run would work on, by wave and then by id; wave 0 comes last.

    Raise UsageError for an unknown harness.
    """
    order = {id_: number for number, wave in enumerate(waves(tasks), 1) for id_ in wave}
    chosen = [
        task for task in tasks if task["status"] != COMPLETED and (options.tasks is None or task["id"] in options.tasks)
    ]
    found = [
        _of_task(
            task,
            order.get(task["id"], 0),
            config,
            options,
            catalog,
            models,
            has_tests=has_tests,
            mount=mount,
            root=root,
        )
        for task in chosen
    ]
    return sorted(found, key=lambda one: (one.wave or len(tasks) + 1, one.id))


def _of_task(  # noqa: PLR0917
    task: dict[str, Any],
    wave: int,
    config: RunConfig,
    options: Options,
    catalog: Catalog,
    models: Mapping[str, ChooseModel],
    *,
    has_tests: bool,
    mount: Callable[[str, str, str], Mount],
    root: str,
) -> TaskPreview:
    agent = str(task.get("owner") or "")
    entry = catalog.agents.get(agent)
    chosen = routing.strategy(task, config, has_tests=has_tests, override=options.strategy)
    harness, tier = config.harness_for("do"), config.tiers[0].tier
    choose = models.get(harness)
    model = choose(agent, tier) if choose is not None else ""
    category = str(entry["category"]) if entry else "do"
    reviewers = routing.reviewers(task, category, config, chosen) if options.has_review else ()
    attempts = sum(one.attempts for one in config.tiers)
    rounds = attempts * (1 + config.mend)
    request = SessionRequest(
        role="owner",
        agent=agent,
        prompt="",
        role_text=f"(the text of {agent})" if entry else "",
        model=model,
        forbidden=tuple(name for name in forbidden_tools(catalog, agent, harness) if "*" not in name) if entry else (),
        folder=_WORKTREE,
        scratch=_SCRATCH,
        session="SESSION-ID",
        mount=mount(harness, _SCRATCH, root),
        unsafe=config.unsafe,
        max_cost_usd=config.max_cost_usd,
    )
    command = driver(harness, config).command(request)
    folders = {"git": os.path.join(root, ".git"), "admin": "GIT-FOLDER", "worktree": _WORKTREE}
    others = (_WORKTREES, *global_config_files())
    words = sandbox.wrap(command.words, config, root=root, **folders, writable=(_SCRATCH,), others=others)
    return TaskPreview(
        id=task["id"],
        title=str(task["title"]),
        wave=wave,
        deps=list(task.get("deps", ())),
        agent=agent,
        strategy=chosen,
        tier=tier,
        harness=harness,
        model=model,
        command=list(words),
        files=sorted(command.files),
        environ=dict(command.environ),
        checks=[f"{name}: {command}" for name, command in config.active_checks().items()],
        reviewers=list(reviewers),
        sessions=rounds * (len(SESSIONS[chosen]) + 2 * len(reviewers)),
    )
