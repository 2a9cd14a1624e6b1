"""The engine's socket: found, asked, and its failures said in words. The one file that loads the Docker SDK.

Covers an engine on this machine alone. One elsewhere is refused: a job's descriptors cannot be passed to it.
"""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reasongym.sandbox.jobs import SandboxError

__all__ = ["Engine", "default_host"]

ANSWER_S = 15.0
SCHEME = "unix://"
SYSTEM_SOCKET = "/var/run/docker.sock"


class Engine:
    """api: the SDK's low-level client. details: what `docker info` says. Safe to use from several threads.

    host: `unix://` and the path of a socket. Raises SandboxError where no engine answers there.
    """

    def __init__(self, host: str | None = None, *, answer_s: float = ANSWER_S) -> None:
        self.host = host or default_host()
        self._answer_s = answer_s
        _check_socket(self.host, answer_s)
        try:
            import docker
        except ImportError as error:
            raise SandboxError(f"the Docker SDK cannot be loaded ({error}); remedy: pip install docker") from error
        self._errors: tuple[type[Exception], ...] = (docker.errors.DockerException, OSError)
        self._absent: type[Exception] = docker.errors.NotFound
        with self.doing("being asked who it is"):
            self.api: Any = docker.APIClient(base_url=self.host, version="auto", timeout=answer_s)
            self.details: dict[str, Any] = self.api.info()

    @contextlib.contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Turns what the SDK raises, which includes time-outs, into SandboxError."""
        _check_socket(self.host, self._answer_s)
        try:
            yield
        except self._errors as error:
            raise SandboxError(f"the Docker engine at {self.host} failed at {what}: {_told(error)}; remedy: see that "
                               "it runs (`docker info`), see its log, or use the local backend") from error

    def remove(self, container: str) -> None:
        """Kill and remove, where there is one. Says nothing of a failure: whoever tidies up has failed before."""
        if not container:
            return
        # It may be gone, or going, or the engine be: the agent has ended with its control socket, and so the container.
        with contextlib.suppress(SandboxError), self.doing("removing a container"):
            self.api.remove_container(container, force=True)

    def is_running(self, container: str) -> bool:
        """Raises SandboxError where the engine does not say."""
        with self.doing("looking at a container"):
            try:
                return bool(self.api.inspect_container(container)["State"]["Running"])
            except self._absent:
                return False

    def has_image(self, tag: str) -> bool:
        """Raises SandboxError where the engine does not say."""
        with self.doing("looking for the image"):
            try:
                self.api.inspect_image(tag)
            except self._absent:
                return False
            return True

    def close(self) -> None:
        """Its connections. May be repeated."""
        self.api.close()


def default_host() -> str:
    """DOCKER_HOST, else the system's engine, else one of this user's own."""
    if host := os.environ.get("DOCKER_HOST"):
        return host
    own = Path(os.environ.get("XDG_RUNTIME_DIR") or "/nonexistent", "docker.sock")
    return SCHEME + (str(own) if own.exists() and not Path(SYSTEM_SOCKET).exists() else SYSTEM_SOCKET)


def _check_socket(host: str, answer_s: float) -> None:
    """Before the SDK is asked: its words for these cases name neither cause nor remedy, and it leaves a socket open."""
    if not host.startswith(SCHEME):
        raise SandboxError(f"the docker backend cannot use the engine at {host}: expected one on this machine, "
                           f"{SCHEME}PATH, since the descriptors of a job are passed to it; remedy: unset DOCKER_HOST")
    path = host.removeprefix(SCHEME)
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(answer_s)
        try:
            probe.connect(path)
        except FileNotFoundError as error:
            raise SandboxError(f"no Docker engine: there is no socket {path}; remedy: install and start one, set "
                               "DOCKER_HOST to its socket, or use the local backend") from error
        except PermissionError as error:
            raise SandboxError(f"no permission to use the Docker engine at {path}; remedy: add this user to the group "
                               "that owns the socket (who is in it can become root), or use the local backend"
                               ) from error
        except OSError as error:
            raise SandboxError(f"no Docker engine answers at {path} ({error}); remedy: start it, or use the local "
                               "backend") from error


def _told(error: Exception) -> str:
    """The engine's own words where it sent some: the SDK wraps them in an address and a status."""
    return str(getattr(error, "explanation", None) or error).strip()
