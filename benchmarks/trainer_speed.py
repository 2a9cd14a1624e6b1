"""Forward, log-probabilities and backward of a group of answers: ours beside plain `transformers` and PyTorch.

    ours        our Policy on rows as training packs them: a prompt once for its group, the vocabulary for answers alone
    plain       the same answers as a padded batch, one a row, and a float32 log-softmax of all logits
    plain_bf16  the same in bfloat16, as most trainers on GPUs run it; a CPU without its instructions is slow there, so
                it has two of the answers, once

All take the policy-gradient loss of the same tokens with the same weights, on the embedded model, one after another in
turns. Tokens are those of the answers, so that each counts the same work. The gradients of ours and plain are compared.
roofline: float32 matrix products of the model's own widths in the same process.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from reasongym.models import EMBEDDED, model_folder
from reasongym.training.heap import give_back_between_layers
from reasongym.training.policy import Policy, load_policy
from reasongym.training.rows import MicroBatch, Row, Sample
from reasongym.training.tensors import collate

PROMPT = 120  # tokens: a GSM8K question in its chat template
ANSWERS = (24, 36, 42, 48, 57, 66, 84, 120)  # tokens of a group's answers: a long tail, as sampling gives it
FEW = (48, 66)
TURNS = 5
CPU = torch.device("cpu")


class Measured(NamedTuple):
    """Median seconds of a turn, and the gradient of one, flat in float32."""

    seconds: float
    gradient: Tensor


def measure() -> dict[str, float]:
    """Answer tokens a second of each, ratios, the gradients' distances and the share of the roofline."""
    mine, model, half = (load_policy(model_folder(EMBEDDED), dtype=dtype, trust_remote_code=False,
                                     gradient_checkpointing=False)
                         for dtype in (torch.float32, torch.float32, torch.bfloat16))
    policy, own, peer = Policy(mine, temperature=1.0, chunk_tokens=512), [], []
    give_back_between_layers(policy)  # as a rank does
    for _ in range(TURNS + 1):  # in turns, so that other work on the machine slows both; the first warms up
        own.append(turn(lambda: ours(policy, ANSWERS), mine))
        peer.append(turn(lambda: plain(model, ANSWERS), model))
    exact, slow = turn(lambda: ours(policy, FEW), mine), turn(lambda: plain(half, FEW), half)
    ours_s, plain_s = (statistics.median(found.seconds for found in turns[1:]) for turns in (own, peer))
    tokens, roof = sum(ANSWERS), roofline(model.config)
    return {"ours_tokens_per_second": tokens / ours_s, "plain_tokens_per_second": tokens / plain_s,
            "plain_bf16_tokens_per_second": sum(FEW) / slow.seconds, "ours_over_plain": plain_s / ours_s,
            "ours_over_plain_bf16": tokens / ours_s / (sum(FEW) / slow.seconds),
            "gradient_distance": distance(peer[-1].gradient, own[-1].gradient),
            "gradient_distance_of_bf16": distance(exact.gradient, slow.gradient),
            "roofline_gflops": roof / 1e9, "ours_share_of_roofline": needed_flops(model) / ours_s / roof}


def ours(policy: Policy, answers: Sequence[int]) -> Tensor:
    """The loss as our ranks compute it. answers: tokens of each."""
    batch = collate(micro_batch(answers), device=CPU)
    return -(weights(answers)[:, None] * policy(batch).logprobs_BT).sum() / sum(answers)


def plain(model: Any, answers: Sequence[int]) -> Tensor:
    """The loss as it is written first: one padded row an answer, and the logits of every position."""
    samples = micro_batch(answers).samples
    longest = PROMPT + max(answers)
    rows = [[*sample.prompt_ids, *sample.token_ids] for sample in samples]
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    real = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    logits = model(input_ids=ids, attention_mask=real, use_cache=False).logits[:, :-1]
    logprobs = logits.float().log_softmax(-1).gather(-1, ids[:, 1:, None]).squeeze(-1)
    mask = real[:, 1:].bool() & (torch.arange(1, longest) >= PROMPT)
    return -(weights(answers)[:, None] * torch.where(mask, logprobs, 0.0)).sum() / sum(answers)


def weights(answers: Sequence[int]) -> Tensor:
    """Of each answer: what an advantage is in a loss."""
    return torch.linspace(-1.0, 1.0, len(answers))


def micro_batch(answers: Sequence[int]) -> MicroBatch:
    """One group."""
    generator = torch.Generator().manual_seed(0)

    def draw(n: int) -> tuple[int, ...]:
        return tuple(torch.randint(0, 49_000, (n,), generator=generator).tolist())

    prompt = draw(PROMPT)
    return MicroBatch((Row(tuple(Sample(prompt_ids=prompt, token_ids=draw(n), mask=(True,) * n) for n in answers)),))


def turn(loss: Any, model: Any) -> Measured:
    """One loss and its gradient."""
    model.zero_grad(set_to_none=True)
    started = time.perf_counter()
    loss().backward()
    seconds = time.perf_counter() - started
    return Measured(seconds, torch.cat([p.grad.float().flatten() for p in model.parameters()]))


def distance(expected: Tensor, found: Tensor) -> float:
    """Relative, in the 2-norm."""
    return float((expected - found).norm() / expected.norm())


def needed_flops(model: Any) -> float:
    """Of the matrix products that the loss and its gradient cannot do without: 6 a weight and token in the layers for
    the prompt and all answers once, and in the head for the answers' tokens. Attention's own are left out."""
    body = sum(p.numel() for p in model.base_model.layers.parameters() if p.ndim == 2)
    head = model.get_output_embeddings().weight.numel()
    return 6.0 * (body * (PROMPT + sum(ANSWERS)) + head * sum(ANSWERS))


def roofline(config: Any) -> float:
    """Floating-point operations a second of the largest matrix product of the model's layers, at its best of ten."""
    tokens, width, inner = PROMPT + sum(ANSWERS), config.hidden_size, config.intermediate_size
    left, right = torch.randn(tokens, width), torch.randn(width, inner)
    seconds = []
    for _ in range(11):
        started = time.perf_counter()
        for _ in range(20):
            left @ right
        seconds.append(time.perf_counter() - started)
    return 20 * 2.0 * tokens * width * inner / min(seconds)
