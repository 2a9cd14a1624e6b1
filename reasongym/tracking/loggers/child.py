"""The process of one logger: reads a call a line, answers each. It ends with the run, however that ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Mapping
from typing import Any

from reasongym.tracking.loggers.known import open_service
from reasongym.tracking.loggers.messages import RunInfo, Service, Table

__all__ = ["main"]

LAST_WORDS_S = 60.0
"""What a logger may take to end the run in its service once the training process is gone."""


def main(name: str, descriptor: int) -> None:
    """name: of the logger. descriptor: of the socket that calls come through."""
    # The run says when it ends: an interrupt is its business, and the last rows come after it.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    with socket.socket(fileno=descriptor) as channel, channel.makefile("rwb") as calls:
        service: Service | None = None
        for line in calls:
            call = json.loads(line)
            try:
                service = _carry_out(name, service, call)
                answer = {"note": service.note}
            except Exception as error:  # boundary: a service's client raises what it likes, and the run goes on
                answer = {"error": f"{type(error).__name__}: {error}"[:1000]}
            calls.write(json.dumps(answer).encode() + b"\n")
            calls.flush()
            if call["call"] == "finish":
                return
        if service is not None:  # no one called `finish`: the training process was killed
            _end_by_oneself(service)


def _carry_out(name: str, service: Service | None, call: Mapping[str, Any]) -> Service:
    if call["call"] == "start":
        return open_service(name, RunInfo(**call["run"]))
    assert service is not None, "a run begins with `start`"
    if call["call"] == "row":
        service.row(call["step"], call["time"], call["values"])
    elif call["call"] == "table":
        service.table(call["step"], Table(columns=call["columns"], rows=call["rows"]))
    else:
        service.finish(call["outcome"])
    return service


def _end_by_oneself(service: Service) -> None:
    """As failed, under a deadline: no process may stay behind because a service does not answer."""
    watchdog = threading.Timer(LAST_WORDS_S, os._exit, [1])
    watchdog.daemon = True
    watchdog.start()
    try:
        service.finish("failed")
    except Exception as error:  # boundary: nobody is left to be told, except the log file
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
