"""Build and run images with podman, buildah and runc, in a separate store that the caller removes."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from pathlib import Path

PYTHON = "3.11"
"""The Python version of Debian 12. The tag of the base image has it, too."""
BASE = f"docker.io/library/python:{PYTHON}-slim"
_DEBIAN = "bookworm"
_TOOLS = ("podman", "buildah", "runc", "mmdebstrap")
_SETTINGS = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
"""Environment variables that a build needs to reach the package registries."""
_LIMIT_S = 900
_FILES, _PROCESSES = 4096, 1024


class NotHad(Exception):
    """A tool or a right is missing. The message has no full stop at its end."""


class Engine:
    """Podman and buildah with a store in `folder`; `context` is the folder of the container files. Raise NotHad."""

    def __init__(self, folder: Path, context: Path) -> None:
        path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin"
        missing = [name for name in _TOOLS if shutil.which(name, path=path) is None]
        if missing:
            raise NotHad(f"{', '.join(missing)} cannot be found; Debian has these packages")
        if os.geteuid() != 0:
            raise NotHad("the images are built without a user namespace, which needs root")
        self._folder, self._context = folder, context
        self._environ = {**os.environ, "PATH": path}
        self._store = ["--root", str(folder / "store"), "--runroot", str(folder / "run"), "--storage-driver", "vfs"]

    def make_base(self) -> None:
        """Make the base image from packages of Debian. Raise NotHad without them."""
        archive = self._folder / "base.tar"
        packages = "python3,python3-pip,ca-certificates"
        try:
            self._run("mmdebstrap", "--quiet", "--variant=minbase", f"--include={packages}", _DEBIAN, str(archive))
        except subprocess.CalledProcessError as error:
            raise NotHad(f"the base image cannot be made: {(error.stdout or '').strip()[-300:]}") from error
        self._podman(
            "import", "--change", "ENV PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", str(archive), "plain"
        )
        archive.unlink()
        names = self._folder / "names"
        # As in the official image: `python` exists, and pip may install into the system's Python.
        lines = (
            "FROM localhost/plain",
            "RUN ln -s /usr/bin/python3 /usr/local/bin/python && rm /usr/lib/python3*/EXTERNALLY-MANAGED",
        )
        names.write_text("\n".join(lines))
        self.build(BASE, str(names))

    def build(self, name: str, file: str) -> None:
        """Build an image from a container file. Raise CalledProcessError."""
        words = [word for one in _SETTINGS if one in os.environ for word in ("--env", f"{one}={os.environ[one]}")]
        if "PIP_CERT" in os.environ:  # the package registry uses its own certificate authority
            certificates = os.path.dirname(os.environ["PIP_CERT"])
            words += ["--env", f"PIP_CERT={os.environ['PIP_CERT']}", "--volume", f"{certificates}:{certificates}:ro"]
        words += ["--build-arg", f"PYTHON={PYTHON}", "--tag", name, "--file", file]
        built = ("bud", "--isolation", "chroot", "--network", "host", "--pull-never")
        self._run("buildah", *self._store, *built, *words, str(self._context))

    def run(self, *words: str) -> str:
        """Run a container, and return its output. Raise CalledProcessError."""
        return self._podman("run", "--rm", *self._limits(), *words)

    def start(self, name: str, *words: str) -> None:
        """Start a container in the background. Raise CalledProcessError."""
        self._podman("run", "--detach", "--name", name, *self._limits(), *words)

    def stop(self, name: str) -> tuple[int, str]:
        """Stop a container as `podman stop` does; return (exit code, output of the container)."""
        self._podman("stop", name)
        code = self._podman("inspect", "--format", "{{.State.ExitCode}}", name)
        return int(code), self._podman("logs", name)

    def end(self) -> None:
        """Remove all containers; their store goes with the folder."""
        self._podman("rm", "--all", "--force")

    def _limits(self) -> list[str]:
        """Return options with ulimits not above those of this process, because it may not raise them."""
        most = min(_FILES, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        return ["--ulimit", f"nofile={most}:{most}", "--ulimit", f"nproc={_PROCESSES}:{_PROCESSES}"]

    def _podman(self, *words: str) -> str:
        engine = ("--cgroup-manager", "cgroupfs", "--events-backend", "file")
        runtime = shutil.which("runc", path=self._environ["PATH"]) or "runc"
        return self._run("podman", *self._store, *engine, "--runtime", runtime, *words)

    def _run(self, *words: str) -> str:
        done = subprocess.run(
            words, env=self._environ, check=True, text=True, timeout=_LIMIT_S, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        return done.stdout.strip()
