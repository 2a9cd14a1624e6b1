"""What both programs share: values over descriptor 3, and the head of the function that is to be written.

A frame is its length (4 bytes, big endian), then an encoded value.
"""

from __future__ import annotations

import os
import struct

from reasongym.verifiers.code.inside.values import MAX_MESSAGE, decode, encode

__all__ = ["receive", "run_prompt", "send"]

_DESCRIPTOR = 3

TYPE_CHECKING = False  # `typing` takes longer to import than all of this
if TYPE_CHECKING:
    from typing import Any


def receive() -> Any:
    """The next value. Ends the process where the host has gone."""
    return decode(_read(struct.unpack(">I", _read(4))[0]), limit=MAX_MESSAGE)


def send(value: object, *, limit: int = MAX_MESSAGE, exact: bool = False) -> None:
    """Raises NotPlain before anything is written; limit and exact are those of `encode`."""
    frame = encode(value, limit=limit, exact=exact)
    left = memoryview(struct.pack(">I", len(frame)) + frame)
    while left:
        left = left[os.write(_DESCRIPTOR, left):]


def run_prompt(prompt: str, space: dict[str, object]) -> None:
    """Its imports and helpers, and the function without a body. A prompt that holds more than Python gives nothing."""
    try:
        code = compile(prompt, "prompt.py", "exec")
    except (SyntaxError, ValueError):
        return
    exec(code, space)


def _read(size: int) -> bytes:
    pieces = []
    while size:
        piece = os.read(_DESCRIPTOR, min(size, 2**20))
        if not piece:
            os._exit(0)
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)
