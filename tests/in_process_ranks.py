"""Ranks without Ray and DeepSpeed: the real policy, losses and micro-batches in this process, in float64.

What `optimize` and `experience` ask of a RankGroup is answered by a small Llama; `train` accumulates the gradient that
the ranks' shares add up to and makes no step, so that it can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import torch

from reasongym.records import Completion, FinishReason, Group, Prompt, Rollout
from reasongym.tasks import Example
from reasongym.training.policy import Policy
from reasongym.training.rows import MicroBatch
from reasongym.training.tensors import collate
from reasongym.training.update import micro_loss
from reasongym.training.zero_rank import StepTotals, combined
from reasongym.verifiers import Verdict

CPU = torch.device("cpu")
VOCABULARY = 61


def small_llama(seed: int = 0) -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(vocab_size=VOCABULARY, hidden_size=16, intermediate_size=24, num_hidden_layers=1,
                         num_attention_heads=2, num_key_value_heads=1, tie_word_embeddings=True,
                         initializer_range=0.3)
    return LlamaForCausalLM(config).double()


class InProcessRanks:
    """`world` ranks that share one model; the reference and the critic's values are other models of the same make."""

    def __init__(self, world: int = 1, *, entropy_gradient: bool = False, share_prompt: bool = True) -> None:
        self.settings = SimpleNamespace(world=world, teams=world, share_prompt=share_prompt)
        self.policy = Policy(small_llama(), temperature=1.0, chunk_tokens=5, entropy_gradient=entropy_gradient)
        self.reference = Policy(small_llama(1), temperature=1.0, chunk_tokens=5)
        self.asked: list[str] = []
        self.losses: list[float] = []

    def scatter(self, method: str, per_rank: Sequence[tuple[Any, ...]]) -> list[Any]:
        self.asked.append(method)
        return [getattr(self, method)(*arguments) for arguments in per_rank]

    def logprobs(self, micros: Sequence[MicroBatch]) -> list[list[list[float]]]:
        return self._measured(self.policy, micros)

    def reference_logprobs(self, micros: Sequence[MicroBatch]) -> list[list[list[float]]]:
        return self._measured(self.reference, micros)

    def values(self, micros: Sequence[MicroBatch]) -> list[list[list[float]]]:
        """Stands for a critic: any number a token does, as long as it is the same in every micro-batch."""
        return [[[0.1 * value for value in row] for row in micro] for micro in self._measured(self.reference, micros)]

    def train(self, micros: Sequence[MicroBatch], loss: Any, learning_rate: float) -> StepTotals:
        results = []
        for micro in micros:
            batch = collate(micro, device=CPU)
            batch = batch._replace(columns={name: column.double() for name, column in batch.columns.items()})
            found = micro_loss(batch, self.policy(batch), loss)
            found.loss.backward()
            results.append(found._replace(loss=found.loss.detach()))
        totals = combined(results, grad_norm=0.0, seconds=0.0)
        self.losses.append(totals.loss)
        return totals

    def gradient(self) -> torch.Tensor:
        return torch.cat([p.grad.flatten() for p in self.policy.model.parameters()])  # type: ignore[union-attr,operator]

    def _measured(self, policy: Policy, micros: Sequence[MicroBatch]) -> list[list[list[float]]]:
        found = []
        with torch.no_grad():
            for micro in micros:
                values_BT = policy(collate(micro, device=CPU)).logprobs_BT
                found.append([row_T[:len(sample.token_ids)].tolist()
                              for row_T, sample in zip(values_BT, micro.samples, strict=True)])
        return found


def scored_groups(rewards: Sequence[Sequence[float | None]], *, seed: int = 0, longest: int = 6) -> list[Group]:
    """Groups with these rewards (None: its verifier failed), of random tokens, lengths and tool turns."""
    generator = torch.Generator().manual_seed(seed)

    def draw(n: int) -> tuple[int, ...]:
        return tuple(torch.randint(0, VOCABULARY, (n,), generator=generator).tolist())

    groups = []
    for index, rewards_G in enumerate(rewards):
        example = Example(task="arithmetic", split="train", index=index, messages=(), reference=None)
        prompt = Prompt(example=example, token_ids=draw(3 + index), text="")
        rollouts = []
        for reward in rewards_G:
            n = int(torch.randint(1, longest + 1, (), generator=generator))
            mask = tuple((torch.rand(n, generator=generator) < 0.8).tolist())
            logprobs = tuple((-4 * torch.rand(n, generator=generator)).tolist())
            completion = Completion(token_ids=draw(n), logprobs=logprobs, mask=mask, versions=(0,) * n, text="",
                                    finish_reason=FinishReason.STOP, seed=0)
            rollouts.append(Rollout(prompt=prompt, completion=completion, reward=reward,
                                    verdicts={"answer": Verdict.correct()}))
        groups.append(Group(prompt=prompt, rollouts=tuple(rollouts)))
    return groups
