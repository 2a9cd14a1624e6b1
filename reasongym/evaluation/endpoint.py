"""An OpenAI-compatible endpoint: what is sent, how often it is tried, and what counts as an answer.

Tried again, within `answer_timeout_s`: no connection, a reply that is late or cut off, 408, 409, 425, 429, 5xx, and a
reply of status 200 that is no answer. The wait doubles from 0.5 to 30 s, with jitter, and is at least what Retry-After
says; a 429 or 503 makes all requests wait. Everything else is final. What fails is an Answer with an `error`, never a
text.
"""

from __future__ import annotations

import email.utils
import http.client
import json
import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from reasongym import __version__
from reasongym.errors import EngineError, message
from reasongym.evaluation.exchange import Address, Exchanges, Reply
from reasongym.evaluation.samples import Answer
from reasongym.printable import printable, shorten
from reasongym.records import Prompt

__all__ = ["Endpoint", "EndpointSettings", "Served", "answer_in"]

Api = Literal["chat", "completions"]
PATHS: dict[Api, str] = {"chat": "/chat/completions", "completions": "/completions"}
TRIED_AGAIN = frozenset({408, 409, 425, 429})
FOR_EVERYONE = frozenset({401, 403, 404, 405})
"""Statuses that would be the same for every prompt: a wrong key, model or address."""
FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointSettings:
    """model: as the endpoint names it. key: sent as a bearer token, never shown. sampling: the fields of a request
    beside model, prompt and seed. sends_seed: whether `seed` is one. request_timeout_s: of one attempt.
    answer_timeout_s: of one answer with all its attempts and waits."""

    address: Address
    model: str
    api: Api = "chat"
    key: str = field(default="", repr=False)
    sampling: Mapping[str, Any]
    sends_seed: bool = True
    request_timeout_s: float = 600.0
    answer_timeout_s: float = 1800.0


class Served(NamedTuple):
    """What an endpoint said of itself, sorted."""

    models: tuple[str, ...]
    fingerprints: tuple[str, ...]
    server: str


class _Failure(NamedTuple):
    """of_everyone: no other prompt would fare better. wait_s: as the endpoint asks for."""

    reason: str
    again: bool
    of_everyone: bool = False
    wait_s: float = 0.0
    holds_all: bool = False


class Endpoint:
    """Asks; any thread may. `close` ends every request and every wait."""

    def __init__(self, settings: EndpointSettings) -> None:
        self._settings = settings
        address = settings.address
        path = address.path.removesuffix(PATHS[settings.api]) + PATHS[settings.api]
        self._address = Address(address.secure, address.host, address.port, path, address.query)
        self._exchanges, self._stop, self._lock = Exchanges(), threading.Event(), threading.Lock()
        self._not_before = 0.0
        self._any_answer = False
        self._seen: dict[str, set[str]] = {"model": set(), "system_fingerprint": set(), "server": set()}

    @property
    def served(self) -> Served:
        with self._lock:
            found = {name: tuple(sorted(values)) for name, values in self._seen.items()}
        return Served(found["model"], found["system_fingerprint"], ", ".join(found["server"]))

    def ask(self, prompt: Prompt, seed: int, deadline: float) -> Answer:
        """One answer, or an Answer with the last failure's reason. deadline: a `time.monotonic()` value.

        Raises EngineError where the endpoint refuses in a way that holds for every prompt before it answered any.
        """
        deadline = min(deadline, time.monotonic() + self._settings.answer_timeout_s)
        attempts, reason = 0, "the deadline had passed"
        while self._wait_for_all(deadline) and time.monotonic() < deadline:
            attempts += 1
            got = self._attempt(prompt, seed, attempts, deadline)
            if isinstance(got, Answer):
                return got
            reason = got.reason
            if got.of_everyone and not self._any_answer:
                raise EngineError(message("the endpoint refuses", got=reason,
                                          expected=f"an answer from {self._address.shown}", remedy=self._remedy()))
            if not got.again or not self._wait(got, attempts, deadline):
                break
        return Answer(error=reason, attempts=attempts, seed=seed)

    def close(self) -> None:
        self._stop.set()
        self._exchanges.close()

    def body(self, prompt: Prompt, seed: int) -> dict[str, Any]:
        """A request's fields."""
        settings = self._settings
        asked: dict[str, Any] = ({"messages": [dict(turn) for turn in prompt.example.messages]}
                                 if settings.api == "chat" else {"prompt": prompt.text})
        own = {"seed": seed} if settings.sends_seed else {}
        return {"model": settings.model, **asked, **settings.sampling, **own}

    def _attempt(self, prompt: Prompt, seed: int, attempts: int, deadline: float) -> Answer | _Failure:
        settings, started = self._settings, time.monotonic()
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Connection": "close",
                   "User-Agent": f"reasongym/{__version__}",
                   **({"Authorization": f"Bearer {settings.key}"} if settings.key else {})}
        try:
            reply = self._exchanges.post(self._address, json.dumps(self.body(prompt, seed)).encode("ascii"), headers,
                                         max(min(settings.request_timeout_s, deadline - started), 1e-3))
        except (OSError, http.client.HTTPException, ValueError) as error:
            return _Failure(self._shown(f"{type(error).__name__}: {error}"), again=True)
        if reply.status != 200:
            return self._refusal(reply)
        try:
            answer = answer_in(reply.body, settings.api)
        except (ValueError, RecursionError) as error:
            return _Failure(self._shown(f"a reply that is no answer: {error}"), again=True)
        self._note(reply)
        return Answer(text=answer.text, reasoning=answer.reasoning, finish_reason=answer.finish_reason,
                      error=self._shown(answer.error), seconds=time.monotonic() - started, attempts=attempts, seed=seed,
                      num_tokens=answer.num_tokens, num_prompt_tokens=answer.num_prompt_tokens)

    def _remedy(self) -> str:
        given = self._settings.address
        without = not given.path.removesuffix(PATHS[self._settings.api])
        usual = f" (most servers answer below /v1: --endpoint {given.shown}/v1)" if without else ""
        return f"check --endpoint{usual}, --model and --key-env"

    def _refusal(self, reply: Reply) -> _Failure:
        status, text = reply.status, reply.body[:2000].decode("utf-8", "replace")
        asked = retry_after_s(reply.headers.get("retry-after", ""))
        return _Failure(self._shown(f"status {status}: {text.strip() or http.client.responses.get(status, '')}"),
                        again=status in TRIED_AGAIN or status >= 500, wait_s=asked,
                        of_everyone=status in FOR_EVERYONE or 300 <= status < 400, holds_all=status in (429, 503))

    def _wait(self, failure: _Failure, attempts: int, deadline: float) -> bool:
        """False where the wait would end after the deadline, or was ended."""
        backoff = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** min(attempts - 1, 16))
        wait_s = failure.wait_s + random.uniform(0.5, 1.0) * backoff
        if failure.wait_s and failure.holds_all:
            with self._lock:
                self._not_before = max(self._not_before, time.monotonic() + failure.wait_s)
        return time.monotonic() + wait_s < deadline and not self._stop.wait(wait_s)

    def _wait_for_all(self, deadline: float) -> bool:
        with self._lock:
            wait_s = self._not_before - time.monotonic()
        if wait_s <= 0:
            return not self._stop.is_set()
        # Jitter again: else all that were held back come at once.
        wait_s += random.uniform(0.0, FIRST_WAIT_S)
        return time.monotonic() + wait_s < deadline and not self._stop.wait(wait_s)

    def _note(self, reply: Reply) -> None:
        record = json.loads(reply.body)
        with self._lock:
            self._any_answer = True
            for name in ("model", "system_fingerprint"):
                if isinstance(record.get(name), str):
                    self._seen[name].add(printable(record[name])[:200])
            if server := reply.headers.get("server"):
                self._seen["server"].add(printable(server)[:200])

    def _shown(self, text: str) -> str:
        """One line; a key that the endpoint repeats is taken out."""
        if self._settings.key:
            text = text.replace(self._settings.key, "(key)")
        return shorten(printable(" ".join(text.split())), 400)


def answer_in(body: bytes, api: Api) -> Answer:
    """The answer in a reply of status 200; `error` where the endpoint withheld it. Raises ValueError for anything else.

    Reasoning is read from `reasoning_content` or `reasoning`; it is kept apart and not verified.
    """
    record = json.loads(body)
    choices = record.get("choices") if isinstance(record, dict) else None
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
        raise ValueError(f"not one choice in {body[:200].decode('utf-8', 'replace')!r}")
    choice = choices[0]
    held = choice.get("message") if api == "chat" else choice
    text = held.get("content" if api == "chat" else "text") if isinstance(held, dict) else None
    finish = choice.get("finish_reason") or ""
    if not isinstance(held, dict) or not isinstance(text, str | None) or not isinstance(finish, str):
        raise ValueError(f"no text in {body[:200].decode('utf-8', 'replace')!r}")
    reasoning = held.get("reasoning_content") or held.get("reasoning") or ""
    counts = record.get("usage") if isinstance(record.get("usage"), dict) else {}
    refusal = held.get("refusal")
    error = "the endpoint withheld the answer (content_filter)" if finish == "content_filter" else ""
    if text is None and isinstance(refusal, str):
        text = refusal  # what the model said, and no failure of the endpoint's
    elif text is None and not error and not (reasoning and finish in ("length", "stop")):
        # Only reasoning may come alone: it used up the tokens, or the model ended without an answer.
        raise ValueError(f"no text, finish_reason {finish!r}")
    return Answer(text=text or "", reasoning=reasoning if isinstance(reasoning, str) else "", error=error,
                  finish_reason=finish, num_tokens=_count(counts, "completion_tokens"),
                  num_prompt_tokens=_count(counts, "prompt_tokens"))


def _count(counts: Mapping[str, Any], name: str) -> int | None:
    value = counts.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None


def retry_after_s(header: str) -> float:
    """Seconds that a Retry-After header asks for, given as seconds or as a date; 0 where there is none to read."""
    try:
        return max(0.0, float(header)) if header.strip()[:1].isdigit() else max(
            0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return 0.0
