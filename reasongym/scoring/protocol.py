"""What crosses between the pool and a worker: length-prefixed JSON over a private socket. Nothing is unpickled.

Pool to worker: one set-up record, then requests: a frame `{"parts": [...], "num_answers": n}`, which says what is to
run, and a frame with the answers; more may come before the first is answered. Worker to pool: one `ways` or `failed`
record, then, for each part of a request in order and as soon as they are known, one `verdicts` record, with one verdict
an answer. After a record that says `retire` come those of the same request, and no more.
"""

from __future__ import annotations

import json
import math
import select
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from typing import Any

from reasongym.errors import DataError, message
from reasongym.tasks import Example
from reasongym.verifiers import Status, Verdict

__all__ = [
    "BATCH",
    "CHANNEL_LOST",
    "IN_WORKER",
    "SINGLE",
    "TOGETHER",
    "Channel",
    "decode",
    "encode",
    "encode_answer",
    "join_answers",
    "verdict_from_record",
    "verdict_to_record",
]

HEADER = struct.Struct("!Q")
MAX_FRAME_BYTES = 256 * 2**20
MAX_ANSWER_BYTES = MAX_FRAME_BYTES - 1024  # what is around it in a request has room
MAX_TEXT_CHARS = 65_536  # of a verdict's texts: a verifier may quote its whole input
CHUNK_BYTES = 1 << 16
IN_WORKER = "REASONGYM_SCORING_WORKER"  # environment variable: the pid of the worker process that set it
SINGLE, TOGETHER, BATCH = "single", "together", "batch"
"""Ways a verifier takes answers: one after another, several side by side (a coroutine function), as one batch."""
_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))
CHANNEL_LOST = 71  # exit status of a worker that cannot send any more


class Channel:
    """One end of the socket. A frame is its length (8 bytes, big endian), then that many bytes.

    death_fd: a file descriptor that becomes readable when the peer process ends; the socket alone would stay open for
    as long as any process forked by a verifier holds a copy of it. Deadlines are `time.monotonic()` values in seconds,
    None waits forever. Raises TimeoutError past the deadline, EOFError where the peer is gone, and other OSErrors.
    """

    def __init__(self, sock: socket.socket, death_fd: int | None = None) -> None:
        self._sock = sock
        self._ahead = bytearray()  # read, and not asked for yet: several frames may have come together
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)
        if death_fd is not None:
            self._poll.register(death_fd, select.POLLIN)

    def send(self, *frames: bytes, deadline: float | None = None) -> None:
        self._sock.settimeout(None if deadline is None else max(deadline - time.monotonic(), 1e-3))
        self._sock.sendall(b"".join(part for frame in frames for part in (HEADER.pack(len(frame)), frame)))

    def receive(self, deadline: float | None = None) -> bytes:
        self._read(HEADER.size, deadline)
        (length,) = HEADER.unpack_from(self._ahead)
        if length > MAX_FRAME_BYTES:
            raise EOFError(f"a frame of {length} bytes, more than {MAX_FRAME_BYTES}: the stream is damaged")
        end = HEADER.size + length
        self._read(end, deadline)
        with memoryview(self._ahead) as ahead, ahead[HEADER.size:end] as part:  # a slice of the array is a copy more
            frame = bytes(part)
        del self._ahead[:end]
        return frame

    def _read(self, num_bytes: int, deadline: float | None) -> None:
        """Until so many are there."""
        while len(self._ahead) < num_bytes:
            self._wait(deadline)
            chunk = self._sock.recv(CHUNK_BYTES)
            if not chunk:
                raise EOFError("the other end is closed")
            self._ahead += chunk

    def _wait(self, deadline: float | None) -> None:
        left_ms = None if deadline is None else max(deadline - time.monotonic(), 0.0) * 1000
        ready = [fd for fd, _ in self._poll.poll(left_ms)]
        if not ready:
            raise TimeoutError("no frame before the deadline")
        if self._sock.fileno() not in ready:  # what was sent before the end is still read first
            raise EOFError("the peer process has ended")


def encode(record: Mapping[str, object]) -> bytes:
    """JSON in ASCII: lone surrogates, which models do produce, survive as escapes."""
    return _ENCODER.encode(record).encode("ascii")


def decode(frame: bytes) -> dict[str, Any]:
    record = json.loads(frame)
    assert isinstance(record, dict)
    return record


def encode_answer(response: str, example: Example) -> bytes:
    """What a verifier will see of one answer. Raises DataError for what JSON cannot carry exactly.

    Tuples arrive as lists; keys that are not text and numbers that are not finite are refused.
    """
    if not isinstance(response, str):
        raise DataError(message("a response is not text", got=type(response).__name__, expected="str",
                                remedy="decode the model's output before scoring it"))
    try:
        frame = encode({"response": response, "reference": _plain(example.reference, "reference"),
                        "fields": _plain(example.fields, "fields")})
    except (ValueError, RecursionError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(message(f"row {example.id} cannot be written as JSON", got=f"{type(error).__name__}: {error}",
                                expected="moderate depth and integers of moderate length",
                                remedy="store such a value as text and parse it in the verifier")) from error
    if len(frame) > MAX_ANSWER_BYTES:
        raise DataError(message(f"row {example.id} is too large to be checked", got=f"{len(frame)} bytes as JSON",
                                expected=f"at most {MAX_ANSWER_BYTES}, response and reference together",
                                remedy="shorten it, or store its data in a file and its path in the row"))
    return frame


def join_answers(frames: Sequence[bytes]) -> bytes:
    """The second frame of a request, from answers that `encode_answer` wrote."""
    return b'{"answers":[' + b",".join(frames) + b"]}"


def _plain(value: object, where: str) -> object:
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item, f"{where}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise _not_json(f"a key of {where}", key)
        return {key: _plain(item, f"{where}.{key}") for key, item in value.items()}
    raise _not_json(where, value)


def _not_json(where: str, value: object) -> DataError:
    return DataError(message(f"{where} cannot be handed to a verifier process",
                             got=f"{type(value).__name__} {value!r:.80}",
                             expected="text, finite numbers, booleans, None, lists, and mappings with text as keys",
                             remedy="convert it in the task, for example to text"))


def verdict_to_record(verdict: Verdict) -> dict[str, object]:
    """All but the seconds. Raises TypeError or ValueError where a verifier filled its Verdict with the wrong types."""
    for name, text in (("extracted", verdict.extracted), ("reason", verdict.reason)):
        if not isinstance(text, str) and not (name == "extracted" and text is None):
            raise TypeError(f"a verdict's {name} is text, got {type(text).__name__}")
    return {"score": float(verdict.score), "status": Status(verdict.status).value,
            "extracted": None if verdict.extracted is None else _shorten(verdict.extracted),
            "reason": _shorten(verdict.reason)}


def verdict_from_record(record: Mapping[str, Any], seconds: float) -> Verdict:
    """The Verdict that was sent. JSON carries floats in their shortest exact form: the score is the same to the bit."""
    return Verdict(score=record["score"], status=Status(record["status"]), extracted=record["extracted"],
                   reason=record["reason"], seconds=seconds)


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_TEXT_CHARS else text[:MAX_TEXT_CHARS - 1] + "…"
