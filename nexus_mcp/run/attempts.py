"""Carry out an attempt stage by stage: worktree, sessions, checks, reviews, judgement."""

from __future__ import annotations

import asyncio
import json
import os
import uuid
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from nexus_mcp.catalog.capabilities import all_capabilities, check_tool, forbidden_tools
from nexus_mcp.run import briefs, checkout_guard, collecting, routing, sandbox, verdict, verdict_files
from nexus_mcp.run import events as ev
from nexus_mcp.run.checks import CheckResult, environment, is_new, run_check
from nexus_mcp.run.commit_hooks import runs_hooks
from nexus_mcp.run.config import guards_from
from nexus_mcp.run.drivers.definition import SessionRequest
from nexus_mcp.run.git import Git
from nexus_mcp.run.judging import Facts, has_failed, has_no_fault, judge
from nexus_mcp.run.outcome import Outcome
from nexus_mcp.run.processes import end_orphan
from nexus_mcp.run.projection import AttemptRecord
from nexus_mcp.run.run_folder import write_file
from nexus_mcp.run.sessions import Place, Result, run_session
from nexus_mcp.run.setup import Run
from nexus_mcp.run.stages import Stage, next_stage
from nexus_mcp.run.worktrees import LeaseLost, left_out_pathspec, read_lease, write_lease
from nexus_mcp.store.folder import Folder

_PHASES: dict[str, ev.Phase] = {"worktree": "setup", "checks": "verify", "review": "review", "judge": "verify"}
_ROLE_PHASES: dict[ev.Role, ev.Phase] = {"test-writer": "test-write", "verifier": "verify", "reviewer": "review"}
JUDGES: frozenset[ev.Role] = frozenset(("verifier", "reviewer"))
"""Roles whose sessions only judge."""
_DIFF_SHOWN = 20_000
_DIFF_LIMIT = 16 << 20
_ADVICE_SHOWN = 8000
_NO_EDIT = "no_file_edit"


class Attempts:
    """The attempts of one task in a run."""

    def __init__(self, run: Run, task: dict[str, Any]) -> None:
        self.run = run
        self.task = task
        self.id: int = task["id"]
        self.owner = task.get("owner") if isinstance(task.get("owner"), str) else ""
        agent = run.catalog.agents.get(self.owner or "")
        self.category = str(agent["category"]) if agent else "do"
        self.may_edit = agent is None or _NO_EDIT not in all_capabilities(agent)

    @property
    def record(self) -> AttemptRecord:
        """Return the record of the last attempt."""
        last = self.run.state.task(self.id).last
        assert last is not None
        return last

    def reviewers(self, record: AttemptRecord) -> tuple[str, ...]:
        """Return the agents that judge the work of an attempt."""
        chosen = record.attempt.strategy
        if not self.run.options.has_review:
            return ("tester",) if chosen == "three-session-tdd" else ()
        return routing.reviewers(self.task, self.category, self.run.config, chosen)

    def has_checks(self, record: AttemptRecord) -> bool:
        """Return whether the project's checks judge the attempt."""
        return bool(self.run.config.active_checks()) and record.attempt.strategy != "none"

    async def carry_out(self) -> Outcome | str:
        """Carry out the last attempt, log its outcome, and return the outcome; if a person has to answer first, return
        the question instead.

        Raise OSError, and NexusError such as StorageError, GitFailed, CheckoutChanged, LeaseLost and WorktreeGone;
        asyncio.CancelledError leaves the attempt as the log has it.
        """
        while True:
            record = self.record
            stage = next_stage(record, self.reviewers(record), has_checks=self.has_checks(record))
            facts = self._facts(record)
            if stage.name in ("checks", "review") and has_failed(record, facts, self.run.config):
                stage = Stage("judge")
            phase = _ROLE_PHASES.get(stage.role) if stage.name in ("session", "review") else None
            phase = phase or _PHASES.get(stage.name) or ("implement" if stage.name == "session" else record.phase)
            if phase != record.phase:
                self._emit(ev.PhaseBegun(phase=phase))
            if stage.name == "judge":
                outcome = judge(record, facts, self.run.config)
                if isinstance(outcome, Outcome):
                    self._emit(judged_event(outcome))
                    self._write("result.json", asdict(outcome))
                return outcome
            await self._perform(record, stage)

    async def _perform(self, record: AttemptRecord, stage: Stage) -> None:
        match stage.name:
            case "worktree":
                await self._worktree(record)
            case "await":
                await self._end_interrupted(record)
            case "advise":
                await self._advise(record)
            case "session":
                await self._session(record, stage)
            case "collect":
                await self._collect(record, stage)
            case "checks":
                await self._checks(record)
            case "review":
                await self._review(record, stage)

    def _facts(self, record: AttemptRecord) -> Facts:
        is_work = self.category == "do" and record.attempt.strategy != "none" and not self._has_inherited(record)
        return Facts(is_work=is_work, may_edit=self.may_edit, has_reviewers=bool(self.reviewers(record)))

    def _has_inherited(self, record: AttemptRecord) -> bool:
        """Return whether the attempt began with work in which no judgement found a fault. Then it need not change
        files.
        """
        for before in reversed(self.run.state.task(self.id).attempts[:-1]):
            if before.commit != record.base or not has_no_fault(before.attempt.outcome):
                return False
            if before.files:
                return True
            record = before
        return False

    def _emit(self, event: ev.Event) -> None:
        number = self.record.attempt.number
        self.run.emit(event.model_copy(update={"task": self.id, "attempt": number}))

    async def _worktree(self, record: AttemptRecord) -> None:
        run, number = self.run, record.attempt.number
        repository = run.repository
        await run.log.flush()
        path = await run.pool.take(self.id, number, record.base, run.config.link)
        fence = run.state.seq
        lease = {"run": run.state.run, "task": self.id, "attempt": number, "fence": fence}
        write_lease(await repository.admin_of(path), lease)
        wrap = await sandbox.around(repository, run.config, path)
        for command in run.config.setup:
            environ = environment(tuple(run.config.strip_env), **self._variables(path))
            result = await run_check(ev.SETUP, command, path, environ, run.config.setup_timeout_s, wrap)
            if not result.ok:
                self._emit(_check_event(result, known=False))
                break
        self._emit(ev.WorktreeMade(path=path, branch=repository.branch(self.id, number), fence=fence))

    async def _end_interrupted(self, record: AttemptRecord) -> None:
        """End a session whose executor died or was stopped, commit the session's work, and log that the attempt
        continues.
        """
        session = record.sessions[-1]
        if await end_orphan(session.pid, session.create_time, self.run.state.run):
            self._emit(ev.OrphanEnded(pid=session.pid))
        await self.run.repository.collect(
            record.worktree, self._message("interrupted"), self.run.config.link, hooks=False
        )
        self._emit(ev.Resumed())

    async def _advise(self, record: AttemptRecord) -> None:
        stage = Stage("session", "advisor", agent=routing.advisor(self.owner or ""))
        result = await self._start(record, self._request(record, stage, ""))
        if await self.is_touched(record):
            await self.set_aside(record, stage.agent)
        self._emit(ev.Collected(last_message=result.last_message[-_ADVICE_SHOWN:]))

    async def _session(self, record: AttemptRecord, stage: Stage) -> None:
        is_resumed = bool(stage.resume) and self.run.driver(record.harness).can_resume
        prompt = ""
        if is_resumed and record.interrupted and record.nudge:
            prompt = briefs.nudge_prompt(record.nudge)
        elif is_resumed and record.interrupted:
            prompt = "Your session was interrupted. Its changes are in the tree. Go on with the task."
        elif is_resumed:
            prompt = briefs.mend_prompt(record.mending, record.mending_why)
        request = self._request(record, stage, prompt, resume=stage.resume if is_resumed else "")
        await self._start(record, request)

    async def _start(self, record: AttemptRecord, request: SessionRequest) -> Result:
        run = self.run
        environ = environment(tuple(run.config.strip_env), **request.environ)
        before = await checkout_guard.record(run)
        with self._folder() as folder:
            place = Place(
                *(run.driver(self._harness(record, request.role)), request, folder, self.id, record.attempt.number),
                *(guards_from(run.config.guards_for(request.model), os.environ), run.config.session_timeout_s, environ),
                flush=run.log.flush,
                wrap=await sandbox.around(run.repository, run.config, request.folder, request.scratch),
                redactor=run.redactor,
                is_forbidden=self._judge_of_tools(request),
                project=run.workspace.root,
                checks=tuple(run.config.active_checks().values()),
                nudged=frozenset(record.nudges),
                used=record.used,
            )
            result = await run_session(place, self._log_with_price, run.stop)
        await self._check_checkout(before)
        return result

    def _judge_of_tools(self, request: SessionRequest) -> Callable[[str], bool]:
        """Return a function that returns whether a tool is forbidden to the agent of a session."""
        catalog, harness = self.run.catalog, self._harness(self.record, request.role)
        if request.agent not in catalog.agents:
            return lambda _: False
        return lambda tool: not check_tool(catalog, request.agent, tool, harness)[0]

    async def _check_checkout(self, before: dict[str, str]) -> None:
        """Raise CheckoutChanged if the user's checkout is not as before the session."""
        changed = checkout_guard.differences(before, await self.run.repository.fingerprint())
        if changed:
            self._emit(ev.Guard(name="checkout_changed", value=", ".join(changed)))
            raise checkout_guard.CheckoutChanged(changed)

    def _log_with_price(self, event: ev.Event) -> None:
        """Add an event of a session to the log; if the harness reports no cost, compute the cost from `run.prices`."""
        if isinstance(event, ev.Usage) and event.cost_usd is None:
            event = event.model_copy(update={"cost_usd": self.run.config.cost(self.record.model, event)})
        self.run.emit(event)

    async def _check_lease(self, record: AttemptRecord) -> None:
        """Raise LeaseLost if the worktree does not have the lease of this attempt any more: another attempt has taken
        over the worktree, and the result of this one must not count.
        """
        lease = read_lease(await self.run.repository.admin_of(record.worktree))
        if lease.get("fence") != record.fence or lease.get("run") != self.run.state.run:
            raise LeaseLost(record.worktree)

    async def _collect(self, record: AttemptRecord, stage: Stage) -> None:
        """Commit the work of the session. Raise LeaseLost if another attempt has taken over the worktree."""
        repository = self.run.repository
        await self._check_lease(record)
        before = record.commit or record.base
        with self._folder() as folder:
            message = (folder.read("last_message.md", 1 << 20) or b"").decode(errors="replace")
        await collecting.show_hidden(Git(record.worktree), await repository.admin_of(record.worktree))
        hooks = await runs_hooks(repository.root, record.worktree, record.base)
        wrap = await sandbox.around(repository, self.run.config, record.worktree, commits=True) if hooks else tuple
        commit, refused = await repository.collect(
            record.worktree, self._message(stage.role), self.run.config.link, hooks=hooks, wrap=wrap
        )
        files, diff = await repository.diff(before, commit)
        if record.mending_why in ("merge-conflict", "regression"):  # the tree also has the merged work of other tasks
            files = await self._mended_files(before, commit, files)
        self._emit(ev.Collected(files=files, commit=commit, last_message=message, refused=refused[-4000:]))
        if before != record.base:
            _, diff = await repository.diff(record.base, commit)
        if len(diff) < _DIFF_LIMIT:
            with self._folder() as folder:
                write_file(folder, "diff.patch", run_bytes(self.run, diff), is_kept=False)

    async def _mended_files(self, before: str, commit: str, files: list[str]) -> list[str]:
        """Return the files that a session changed after the integration branch was merged into its worktree.

        `files` are those that differ between `before`, the commit before the session, and `commit`. Leave out files
        that only other tasks changed. Include files in which the session reverted the work of another task: they equal
        `before`, so they are not in `files`. Raise GitFailed.
        """
        repository = self.run.repository
        merged = await self._common(await repository.head(f"refs/heads/{repository.integration}"), commit)
        others, _ = await repository.diff(merged, commit)
        own, _ = await repository.diff(await self._common(merged, before), before)
        return [name for name in others if name in files or name not in own]

    async def _common(self, first: str, second: str) -> str:
        """Return the merge base of two commits; `first` if they have none. Raise GitFailed."""
        code, out = await self.run.repository.git.run("merge-base", first, second, check=False)
        return out.strip() if code == 0 else first

    async def _checks(self, record: AttemptRecord) -> None:
        results = await self.check(record.worktree)
        for result, known in results:
            self._emit(_check_event(result, known=known))
        self._write("checks.json", [asdict(result) for result, _ in results])

    async def check(self, folder: str) -> list[tuple[CheckResult, bool]]:
        """Run the project's checks in a folder; return each result, and whether it is a failure that does not count.

        That is a failure no worse than in the baseline, the results of the checks on the integration branch.
        """
        run = self.run
        environ = environment(tuple(run.config.strip_env), **self._variables(folder))
        wrap = await sandbox.around(run.repository, run.config, folder)
        found = []
        for name, command in run.config.active_checks().items():
            result = await run_check(name, command, folder, environ, run.config.check_timeout_s, wrap)
            found.append((result, not result.ok and not is_new(result, run.baseline.get(name))))
        return found

    async def _review(self, record: AttemptRecord, stage: Stage) -> None:
        """Let an agent judge the work. A review without a verdict is repeated once, and so is one whose agent changed
        files or used a tool that it may not use.
        """
        diff = await Git(record.worktree).out("diff", "--stat", record.base, record.commit)
        for _ in range(2):
            verdict_files.remove(record.worktree)  # the owner's session may have written a verdict file
            request = self._request(record, stage, "", diff=diff[-_DIFF_SHOWN:])
            result = await self._start(record, request)
            found, fault = verdict_files.take(record.worktree, result.last_message)
            if await self.is_touched(record):
                await self.set_aside(record, stage.agent)
                found, fault = None, "It changed files, which are on a branch of their own."
            elif result.forbidden:
                found, fault = None, f"It used tools that it may not use: {', '.join(result.forbidden)}."
            if self.run.stop.is_set():
                raise asyncio.CancelledError
            if found is not None:
                break
        found_json = None if found is None else found.model_dump(mode="json")
        self._emit(ev.VerdictGiven(agent=stage.agent, verdict=found_json, fault="" if found is not None else fault))
        if found_json is not None:
            self._write("verdict.json", found_json)

    async def is_touched(self, record: AttemptRecord) -> bool:
        """Return whether the branch or the files of the attempt, except linked paths, differ from its last commit.

        Raise GitFailed.
        """
        left_out = [left_out_pathspec(link) for link in self.run.config.link]
        is_dirty = await Git(record.worktree).out("status", "--porcelain", "--", ":/", *left_out)
        head = await self.run.repository.head_of(record.worktree)
        return bool(is_dirty) or head != (record.commit or record.base)

    async def set_aside(self, record: AttemptRecord, name: str) -> None:
        """Commit changes that do not belong to the attempt, such as those of an agent that only judges, to a separate
        branch, and reset the worktree to the commit of the attempt. Raise GitFailed, StorageError, WorktreeGone.
        """
        repository = self.run.repository
        message, links = self._message(f"set aside: {name}"), self.run.config.link
        commit, _ = await repository.collect(record.worktree, message, links, hooks=False)
        await repository.git.run("update-ref", f"refs/heads/{record.branch}-{name}", commit)
        await Git(record.worktree).run("reset", "--quiet", "--hard", record.commit or record.base)

    def _request(
        self, record: AttemptRecord, stage: Stage, prompt: str, *, resume: str = "", diff: str = ""
    ) -> SessionRequest:
        run = self.run
        is_judge = stage.role in JUDGES
        harness = self._harness(record, stage.role)
        agent = stage.agent or self.owner or ""
        limit = routing.limit(stage.role, record.attempt.strategy, run.config)
        if not prompt:
            advice = [session.last_message for session in record.sessions if session.role == "advisor"]
            prompt = briefs.prompt(
                *(run.catalog, self.task, run.tasks(), run.store.plan()),
                role=stage.role,
                agent=agent,
                harness=harness,
                limit="" if limit is None else limit.describe(),
                diff=diff,
                findings=[text for text in (*record.findings, record.mending, *advice) if text],
            )
        scratch = os.path.join(run.folder.path, "attempts", f"{self.id}-{record.attempt.number}", "files")
        return SessionRequest(
            role=stage.role,
            agent=agent,
            prompt=run.redactor.text(prompt),
            role_text=briefs.role_text(run.catalog, agent, harness),
            model=run.model(harness, agent, record.attempt.tier),
            folder=record.worktree,
            scratch=scratch,
            session=str(uuid.uuid4()),
            resume=resume,
            forbidden=self._forbidden_tools(agent, harness),
            read_only=is_judge or stage.role == "advisor",
            schema=verdict.Verdict.model_json_schema() if is_judge else None,
            mount=run.mount(harness, scratch, record.worktree),
            unsafe=run.config.unsafe,
            max_cost_usd=self._budget(),
            environ={
                **self._variables(record.worktree),
                "NEXUS_AGENT": agent,
                **({} if limit is None else limit.environ()),
            },
        )

    def _harness(self, record: AttemptRecord, role: ev.Role) -> str:
        """Return the harness of a session: `check` of the configuration for a role that judges, else that of the
        attempt.
        """
        return self.run.config.harness_for("check") if role in JUDGES else record.harness

    def _budget(self) -> float | None:
        """Return the cost limit of a session in USD: what is left of the run's limit, at least 0.01; None without a
        limit.
        """
        limit = self.run.config.max_cost_usd
        return None if limit is None else max(0.01, limit - self.run.state.cost_usd)

    def _forbidden_tools(self, agent: str, harness: str) -> tuple[str, ...]:
        if agent not in self.run.catalog.agents:
            return ()
        return tuple(name for name in forbidden_tools(self.run.catalog, agent, harness) if "*" not in name)

    def _variables(self, folder: str) -> dict[str, str]:
        return {
            "NEXUS_RUN": self.run.state.run,
            "NEXUS_TASK": str(self.id),
            "NEXUS_ATTEMPT": str(self.record.attempt.number),
            "NEXUS_WORKTREE": folder,
        }

    def _message(self, part: str) -> str:
        title = " ".join(str(self.task.get("title", "")).split())[:60]
        head = f"nexus: task {self.id}, attempt {self.record.attempt.number}: {title}"
        return f"{head}\n\nSession: {part}\n\nNexus-Run: {self.run.state.run}\n"

    def _write(self, name: str, value: Any) -> None:
        """Write a file for people into the folder of the attempt; the log has the same facts."""
        with self._folder() as folder:
            data = run_bytes(self.run, json.dumps(value, ensure_ascii=False, indent=2))
            write_file(folder, name, data, is_kept=False)

    def _folder(self) -> Folder:
        """Open the folder of the attempt, created if absent."""
        name = f"{self.id}-{self.record.attempt.number}"
        with self.run.folder.make("attempts")[0] as attempts:
            return attempts.make(name, confirm=False)[0]  # a power cut may lose it: the log has the same facts


def run_bytes(run: Run, text: str) -> bytes:
    """Return a text encoded for a file, with secrets replaced."""
    return run.redactor.data(text.encode("utf-8", "surrogateescape"))


def judged_event(outcome: Outcome) -> ev.Judged:
    """Return the `judged` event for an outcome."""
    return ev.Judged(ok=outcome.ok, category=outcome.category, reason=outcome.reason, failures=outcome.failures)


def _check_event(result: CheckResult, *, known: bool) -> ev.Check:
    return ev.Check(
        name=result.name,
        ok=result.ok,
        code=result.code,
        seconds=result.seconds,
        summary="" if result.ok else result.output,
        failures=result.failures,
        known=known,
    )
