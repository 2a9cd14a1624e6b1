"""Many requests to an endpoint at a time, answers handed over as each ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import NamedTuple

from reasongym.errors import EngineError, message
from reasongym.evaluation.endpoint import Endpoint
from reasongym.evaluation.samples import Answer
from reasongym.records import Prompt

__all__ = ["Question", "ask_all"]

LEAST_STREAK = 16
"""Answers that may fail one after another, at least, before the rest is not asked any more."""


class Question(NamedTuple):
    """key: (place of the prompt, sample of that prompt), both from 0."""

    key: tuple[int, int]
    prompt: Prompt
    seed: int


def ask_all(endpoint: Endpoint, questions: Sequence[Question], *, concurrency: int, deadline: float,
            keep: Callable[[Question, Answer], None]) -> Generator[tuple[Question, Answer], None, None]:
    """Answers in the order they come, those with an error too; what is not asked by the deadline is not among them.

    deadline: a `time.monotonic()` value. keep: called with each answer as soon as it is there, from another thread, so
    that a process killed while answers wait to be taken has lost none of them. When 2 x concurrency prompts in a row
    get no answer, at least LEAST_STREAK, the rest is not asked. Raises EngineError where that comes before any answer.
    """
    def ask(question: Question) -> Answer:
        answer = endpoint.ask(question.prompt, question.seed, deadline)
        if not answer.error:
            keep(question, answer)
        return answer

    left = iter(questions)
    refused, answered = set[int](), 0  # prompts without an answer since the last one that had one
    pending: dict[Future[Answer], Question] = {}
    executor = ThreadPoolExecutor(concurrency, thread_name_prefix="asking")
    try:
        while True:
            in_time = time.monotonic() < deadline and len(refused) < max(LEAST_STREAK, 2 * concurrency)
            while in_time and len(pending) < concurrency and (question := next(left, None)) is not None:
                pending[executor.submit(ask, question)] = question
            if not pending:
                break
            # Every request has a deadline of its own: this wait ends.
            for future in wait(pending, return_when=FIRST_COMPLETED).done:
                question, answer = pending.pop(future), future.result()
                refused, answered = (refused | {question.key[0]}, answered) if answer.error else (set(), answered + 1)
                if not answered and len(refused) >= max(LEAST_STREAK, 2 * concurrency):
                    raise EngineError(message("the endpoint gives no answers", got=answer.error,
                                              expected=f"an answer within {len(refused)} prompts",
                                              remedy="look at the endpoint's own log"))
                yield question, answer
    finally:
        endpoint.close()
        executor.shutdown(cancel_futures=True)
