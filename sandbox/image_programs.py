"""Programs that help to build an image: run to their end, or to a deadline that ends all they started too."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import time
from collections.abc import Mapping

from reasongym.sandbox.jobs import SandboxError

__all__ = ["check_time", "run_program"]

WORDS = 1500


def check_time(until: float) -> float:
    """Seconds left until then, as time.monotonic(). Raises SandboxError where there are none."""
    if (left := until - time.monotonic()) <= 0:
        raise SandboxError("the image was not done in the time it was given; remedy: give it a longer deadline")
    return left


def run_program(command: list[str], until: float, *, environment: Mapping[str, str] | None = None) -> str:
    """What it prints. Raises SandboxError where it fails; where it takes too long it is killed with all it started."""
    left = check_time(until)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                          text=True, env=environment, start_new_session=True) as process:
        try:
            output, _ = process.communicate(timeout=left)
        except BaseException as error:  # any, an interrupt too: it must not go on alone
            os.killpg(process.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                check_time(until)
            raise
    if process.returncode != 0:
        raise SandboxError(f"{command[0]} failed with status {process.returncode} on {platform.machine()}: "
                           f"...{output[-WORDS:].strip()}")
    return output
