"""What an engine asks of vLLM for one answer, and what it makes of the result."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("vllm", reason="the training stack is not installed")

from reasongym.records import Completion, FinishReason
from reasongym.rollout.engine import Engine

pytestmark = pytest.mark.stack


class Sampler:
    """vLLM's front; answers each request with two tokens. spans: of weight versions, as (first token, version)."""

    def __init__(self, finish_reason: str, spans: list[tuple[int, str]]) -> None:
        self.finish_reason, self.spans = finish_reason, spans
        self.prompts: list[Any] = []

    async def generate(self, prompt: Any, parameters: Any, *, request_id: str) -> AsyncIterator[Any]:
        del parameters, request_id
        self.prompts.append(prompt)
        yield SimpleNamespace(outputs=[SimpleNamespace(
            token_ids=[7, 9], logprobs=[{7: SimpleNamespace(logprob=-0.5)}, {9: SimpleNamespace(logprob=-0.25)}],
            text="ab", finish_reason=self.finish_reason,
            weight_versions=[SimpleNamespace(start=start, version=version) for start, version in self.spans])])


def sampled(finish_reason: str = "stop", spans: list[tuple[int, str]] | None = None,
            versions: tuple[str, ...] = ("0",)) -> tuple[list[Completion], list[Any]]:
    """Completions of the prompt 1, 2, 3, one under each version of the engine, and the prompts that vLLM got."""
    engine, llm = Engine.__new__(Engine), Sampler(finish_reason, spans or [])
    engine.llm, engine.index, engine.count = llm, 2, 0  # type: ignore[assignment]
    found = []
    for version in versions:
        engine.version = version
        found.append(asyncio.run(engine._sample((1, 2, 3), {"max_tokens": 2, "temperature": 1.0, "seed": 5})))
    return found, llm.prompts


def test_prefixes_are_shared_under_one_version_and_never_across_two() -> None:
    _, prompts = sampled(versions=("3", "3", "4"))
    assert [prompt["prompt_token_ids"] for prompt in prompts] == [[1, 2, 3]] * 3
    assert [prompt["cache_salt"] for prompt in prompts] == ["3", "3", "4"]


@pytest.mark.parametrize("finish_reason", ["abort", "error", "repetition", None])
def test_an_answer_that_neither_ended_nor_grew_too_long_is_no_answer(finish_reason: str) -> None:
    with pytest.raises(RuntimeError, match=f"finish_reason={finish_reason!r}"):
        sampled(finish_reason)


def test_what_vllm_says_of_each_token_is_kept() -> None:
    (answer,), _ = sampled("length", [(0, "4"), (1, "5")])
    assert answer.finish_reason is FinishReason.LENGTH
    assert (list(answer.token_ids), list(answer.logprobs), list(answer.versions)) == ([7, 9], [-0.5, -0.25], [4, 5])
    assert (answer.seed, answer.engine, answer.text, answer.num_trainable) == (5, 2, "ab", 2)
    (first,), _ = sampled("stop", [(0, "default")])
    assert (first.finish_reason, list(first.versions)) == (FinishReason.STOP, [0, 0])
