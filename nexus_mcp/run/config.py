"""The section `run` of .nexus/config.yml as a model: what a run may do, with which tiers, checks and limits.

Field names are part of the file format. schemas/run/config.schema.json is generated from this model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Protocol, Self

from pydantic import BaseModel, ConfigDict, Field, StrictBool, model_validator

Tier = Literal["fast", "standard", "high"]
Strategy = Literal["test-after", "tdd-lite", "three-session-tdd", "none"]
Isolation = Literal["worktree"]
Regression = Literal["each", "end", "none"]
Trigger = Literal[
    "security-review",
    "cost-exceeded",
    "merge-conflict",
    "cost-warning",
    "max-retries",
    "pre-merge",
    "human-review",
    "story-ambiguity",
    "review-gate",
]
Fallback = Literal["skip", "escalate", "abort"]
Seconds = Annotated[int, Field(ge=1, le=24 * 3600)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
CommandLine = Annotated[str, Field(min_length=1, max_length=10_000)]

TIERS: tuple[Tier, ...] = ("fast", "standard", "high")


class Part(BaseModel):
    """The base of all models: unknown fields are refused, and values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TierBudget(Part):
    """How many attempts a task has at a tier."""

    tier: Tier
    attempts: int = Field(ge=1, le=10)


class Strategies(Part):
    """Which strategy a task gets: by a tag in its texts, else by its owner, else the default."""

    default: Strategy = "test-after"
    by_owner: dict[Name, Strategy] = {}
    tags: dict[Name, Strategy] = {}


class Guards(Part):
    """Limits on a session: seconds without an event, tools before the first edit, and tools after the last edit or
    check.
    """

    stale_warn_s: int = Field(default=60, ge=10, le=1800)
    stale_abort_s: int = Field(default=180, ge=10, le=1800)
    investigation_cap: int = Field(default=15, ge=10, le=18)
    post_edit_cap: int = Field(default=12, ge=1, le=100)

    @model_validator(mode="after")
    def _warn_comes_first(self) -> Self:
        if self.stale_warn_s > self.stale_abort_s:
            raise ValueError("stale_warn_s is larger than stale_abort_s")
        return self


class Questions(Part):
    """How long a run waits for an answer, and which triggers ask.

    `fallback` replaces the fallback of each trigger that accepts this answer; None keeps all fallbacks. `continue` is
    not allowed: after a timeout it would approve work or cost that the fallback of the trigger stops.
    """

    timeout_s: Seconds = 600
    fallback: Fallback | None = None
    triggers: dict[Trigger, StrictBool] = {}

    def asks(self, trigger: Trigger) -> bool:
        """Return whether a trigger asks."""
        return self.triggers.get(trigger, False)


class UserHook(Part):
    """A command of the user that runs at an event of the run."""

    command: CommandLine
    timeout_ms: int = Field(default=5000, ge=100, le=600_000)


class Price(Part):
    """USD per million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)


class Tokens(Protocol):
    """Tokens that a session used."""

    @property
    def input(self) -> int: ...
    @property
    def output(self) -> int: ...


class DriverTemplate(Part):
    """A harness for which nexus-mcp has no driver. `{prompt_file}` in a command is the path of the prompt's file."""

    command: list[CommandLine] = Field(min_length=1, max_length=200)
    resume: list[CommandLine] = []
    format: Literal["text", "jsonl"] = "text"
    done: Annotated[str, Field(max_length=500)] = ""


class Sandbox(Part):
    """A command that wraps each session, setup command, check and commit with hooks; the wrapped command follows it."""

    command: list[CommandLine] = Field(min_length=1, max_length=200)


class RunConfig(Part):
    """The section `run`, with the default of each setting."""

    harness: Name | dict[Name, Name] = "claude-code"
    jobs: int = Field(default=2, ge=1, le=64)
    isolation: Isolation = "worktree"
    worktrees: Name = "~/.local/state/nexus-mcp/worktrees"
    setup: list[CommandLine] = []
    setup_timeout_s: Seconds = 600
    link: list[Name] = []
    checks: dict[Name, CommandLine | None] = {}
    check_timeout_s: Seconds = 300
    session_timeout_s: Seconds = 600
    tiers: list[TierBudget] = Field(
        default=[TierBudget(tier="standard", attempts=2), TierBudget(tier="high", attempts=1)],
        min_length=1,
        max_length=3,
    )
    escalate: StrictBool = True
    mend: int = Field(default=2, ge=0, le=10)
    strategies: Strategies = Strategies()
    tests: list[Name] = ["tests/**", "**/*_test.*", "**/*.test.*"]
    test_writer_may: list[Name] = []
    review: dict[Name, list[Name]] = {"do": ["tester"], "text": ["reviewer"], "risk": ["reviewer", "tester"]}
    max_cost_usd: float | None = Field(default=None, gt=0)
    max_minutes: int | None = Field(default=None, ge=1)
    max_attempts: int | None = Field(default=None, ge=1)
    cost_warning: float = Field(default=0.8, gt=0, le=1)
    guards: dict[Name, Guards] = {"default": Guards()}
    questions: Questions = Questions()
    hooks: dict[Literal["on-start", "on-complete"], UserHook] = {}
    strip_env: list[Name] = ["CLAUDECODE", "REPL_ID", "AGENT"]
    regression: Regression = "each"
    advisor: StrictBool = True
    sandbox: Literal["none", "bwrap"] | Sandbox = "none"
    unsafe: StrictBool = False
    prices: dict[Name, Price] = {}
    drivers: dict[Name, DriverTemplate] = {}

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        names = [one.tier for one in self.tiers]
        if len(set(names)) != len(names):
            raise ValueError("tiers names a tier twice")
        if names != sorted(names, key=TIERS.index):
            raise ValueError("tiers are not in the order fast, standard, high")
        if self.unsafe and self.sandbox == "none":
            raise ValueError("unsafe needs a sandbox: bwrap, or a command")
        if isinstance(self.harness, dict) and "do" not in self.harness:
            raise ValueError("harness has no `do`")
        return self

    def harness_for(self, role: str) -> str:
        """Return the harness of a role: `do` for the work, `check` for reviews; `do` also for a missing role."""
        return self.harness if isinstance(self.harness, str) else self.harness.get(role, self.harness["do"])

    def active_checks(self) -> dict[str, str]:
        """Return the name and command line of each check that is not null."""
        return {name: command for name, command in self.checks.items() if command is not None}

    def cost(self, model: str, usage: Tokens) -> float | None:
        """Return the cost of tokens in USD by `prices`, None for a model without a price."""
        from fnmatch import fnmatchcase

        price = next((one for glob, one in self.prices.items() if fnmatchcase(model, glob)), None)
        return None if price is None else (usage.input * price.input + usage.output * price.output) / 1_000_000

    def guards_for(self, model: str) -> Guards:
        """Return the guards of the first glob that matches the name of a model, else of `default`, else Guards()."""
        from fnmatch import fnmatchcase

        globs = (guards for glob, guards in self.guards.items() if glob != "default" and fnmatchcase(model, glob))
        return next(globs, self.guards.get("default", Guards()))


def guards_from(guards: Guards, environ: Mapping[str, str]) -> Guards:
    """Return the guards; the environment variables NEXUS_STALE_WARN_MS and NEXUS_STALE_ABORT_MS override the
    limits on silence.

    A value that is no number of milliseconds from 1000 to 999999999 is ignored.
    """
    found = {}
    for field, name in (("stale_warn_s", "NEXUS_STALE_WARN_MS"), ("stale_abort_s", "NEXUS_STALE_ABORT_MS")):
        text = environ.get(name, "")
        if text.isascii() and text.isdecimal() and len(text) < 10 and int(text) >= 1000:
            found[field] = int(text) // 1000
    return guards.model_copy(update=found)  # not validated: the bounds hold only for the file
