"""Docker sandboxes opened again and again in a process of its own: what each round leaves. `... ran|refused HOST`."""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor

from sandbox_jobs import run
from scoring_pools import descriptors, wait_until

from reasongym.sandbox import SandboxError, contained
from reasongym.sandbox.docker_api import Engine
from reasongym.sandbox.docker_container import LABEL
from reasongym.sandbox.docker_engine import open_docker

ROUNDS = 3


def containers(engine: Engine, pid: int) -> list[str]:
    """Those that a process started."""
    found = engine.api.containers(all=True, filters={"label": f"{LABEL}.pid={pid}"})
    return [container["Id"] for container in found]


def ran(host: str) -> str:
    """What eight programs printed. Raises AssertionError where a container outlives its sandbox."""
    with open_docker(workers=2, host=host) as sandbox, ThreadPoolExecutor(2) as threads:
        results = list(threads.map(lambda number: run(sandbox, f"print({number})"), range(8)))
    engine = Engine(host)
    wait_until(lambda: not containers(engine, os.getpid()))  # while this process lives: its end would end them too
    engine.close()
    return "".join(result.stdout.decode() for result in results)


def refused(host: str) -> str:
    """What is said where the container lacks its agent."""
    contained.MODULES = ("contained",)
    try:
        open_docker(workers=1, host=host)
    except SandboxError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    ways = {"ran": ran, "refused": refused}
    print(json.dumps([(ways[sys.argv[1]](sys.argv[2]), descriptors()) for _ in range(ROUNDS)]))
