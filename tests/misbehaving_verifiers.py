"""Verifiers of every kind, good and bad, for the tests of the scoring pool, which run them in its workers."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from reasongym.verifiers import Verdict, verifier

_opened: list[Any] = []


def even(response: str, reference: Any, *, example: dict[str, Any]) -> Any:
    return int(response) % 2 == 0


def same(response: str, reference: Any, *, example: dict[str, Any]) -> Any:
    return response == reference


def told(response: str, reference: Any, *, example: dict[str, Any]) -> Any:
    return Verdict.wrong(extracted=repr((response, reference, dict(example))), reason=str(os.getpid()))


def hang(response: str, reference: Any, *, example: dict[str, Any]) -> Any:
    while response == "hang":
        pass
    return True


def counted(response: str, reference: Any, *, example: dict[str, Any]) -> Any:
    """Each check leaves a byte in the file `reference`; a response that names a file waits for it."""
    with Path(reference).open("a") as file:
        file.write(".")
    while response and not Path(response).exists():
        time.sleep(0.002)
    return True


def hang_in_c(response: str, reference: Any, *, example: dict[str, Any]) -> Any:
    return bool(re.match(r"(a+)+$", "a" * 64 + "!"))


def deaf(response: str, reference: Any, *, example: dict[str, Any]) -> Any:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
    Path(reference).write_text(str(child.pid))
    time.sleep(600)


def returns(response: str, reference: Any, *, example: dict[str, Any]) -> Any:
    return eval(response)


def raises(response: str, reference: Any, *, example: dict[str, Any]) -> Any:
    raise {"value": ValueError("no such thing"), "exit": SystemExit(0), "interrupt": KeyboardInterrupt()}[response]


def dies(response: str, reference: Any, *, example: dict[str, Any]) -> Any:
    os._exit(3)


def raises_or_dies(response: str, reference: Any, *, example: dict[str, Any]) -> Any:
    if response == "die":
        os._exit(3)
    if response == "raise":
        raise ValueError("no such thing")
    while response == "hang" or (response == "gate" and not Path(reference).exists()):
        time.sleep(0.002)
    return True


def noted(response: str, reference: Any, *, example: dict[str, Any]) -> Any:
    with Path(reference).open("a") as file:
        file.write(f"{response} ")
    if response == "memory":
        raise MemoryError
    return True


def scribbles(response: str, reference: Any, *, example: dict[str, Any]) -> Any:
    """`send TEXT` sends the pool a frame of its own."""
    if response.startswith("send "):
        text = response.removeprefix("send ").encode()
        os.write(int(sys.argv[-2]), len(text).to_bytes(8) + text)
    return True


def dies_with_an_heir(response: str, reference: Any, *, example: dict[str, Any]) -> Any:
    if os.fork() == 0:
        time.sleep(600)
    os._exit(3)


def aborts(response: str, reference: Any, *, example: dict[str, Any]) -> Any:
    os.abort()


def hoards(response: str, reference: Any, *, example: dict[str, Any]) -> Any:
    return len(bytearray(int(response))) > 0


def prints(response: str, reference: Any, *, example: dict[str, Any]) -> Any:
    for stream in (sys.stdout, sys.stderr):
        print('{"verdict": {"score": 1.0}}', file=stream)
    os.write(1, b"\0" * 64)
    return False


def closes(response: str, reference: Any, *, example: dict[str, Any]) -> Any:
    os.closerange(3, 256)
    _opened.append(Path(reference).open("w"))  # noqa: SIM115  it stays open, as a leaked file does
    return True


def forks(response: str, reference: Any, *, example: dict[str, Any]) -> Any:
    if os.fork() == 0:
        return True
    os.wait()
    return False


async def waits(response: str, reference: Any, *, example: dict[str, Any]) -> Any:
    await asyncio.sleep(0)
    return Verdict.correct(extracted=response)


def spoils(response: str, reference: Any, *, example: dict[str, Any]) -> Any:
    reference.clear()
    example.clear()
    return True


def needs(response: str, reference: Any, *, example: dict[str, Any]) -> Any:
    return len(reference) == 1 and len(example) == 1


@verifier("decorated_rule")
def decorated(response: str, reference: Any, *, example: dict[str, Any]) -> Any:
    return True


_met = asyncio.Event()


async def meets(response: str, reference: Any, *, example: dict[str, Any]) -> Any:
    """The first answer waits for the second: neither has a verdict unless both are being checked."""
    if response == "gate":
        while not Path(reference).exists():
            await asyncio.sleep(0.002)
    elif response == "first":
        await _met.wait()
    elif response == "second":
        _met.set()
    elif response == "late":
        await asyncio.sleep(600)
    elif response == "raise":
        raise ValueError("no such thing")
    elif response == "block":
        time.sleep(600)
    elif response == "die":
        os._exit(3)
    return True


@verifier("batched", batch=True)
def batched(responses: list[str], references: list[Any], *, examples: list[dict[str, Any]]) -> Any:
    """Says what became of each answer and how many came together; some answers make it fail."""
    for response, reference in zip(responses, references, strict=True):
        while response == "gate" and not Path(reference).exists():
            time.sleep(0.002)
    if "raise" in responses:
        raise ValueError("no such thing")
    if "hang" in responses:
        time.sleep(600)
    if "die" in responses:
        os._exit(3)
    if "generate" in responses:
        return (True for _ in responses)
    verdicts: list[Any] = [Verdict.correct(f"{response} of {len(responses)}") for response in responses]
    if "none" in responses:
        verdicts[responses.index("none")] = None
    return verdicts[1:] if "short" in responses else verdicts


@verifier("batched_async", batch=True)
async def batched_async(responses: list[str], references: list[Any], *, examples: list[dict[str, Any]]) -> Any:
    await asyncio.sleep(0)
    return batched.many(responses, references, examples=examples)
