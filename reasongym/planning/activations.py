"""What a forward and a backward pass hold beside the weights: what is kept for the gradient, and what comes and goes at
the output.

Counted from what each operation saves for its gradient, in a Llama-like layer under PyTorch's fused attention;
`tests/test_plan_against_torch.py` holds it against what autograd keeps.
"""

from __future__ import annotations

from typing import NamedTuple

from reasongym.config import RunConfig
from reasongym.planning.shapes import ModelShape

__all__ = ["MicroBatch", "kept", "largest_micro_batch", "output_peak", "shares_prompt", "value_peak"]

LOGITS = 2  # float32 chunks of logits at one time: they, and their exponentials (`algorithms/logprobs.py`)
PAIRS = frozenset({"dpo", "online_dpo"})


class MicroBatch(NamedTuple):
    """The largest one that a rank reads. tokens: with padding. row: tokens of its longest row. masked: rows hold
    several answers, so each layer is told what each token sees."""

    tokens: int
    row: int
    masked: bool


def shares_prompt(config: RunConfig, shape: ModelShape | None) -> bool:
    """Whether several answers to a prompt are read in one row: where that is asked for, and every layer sees a whole
    prompt and its answer. A model of unknown shape counts as one that does."""
    longest = config.rollout.max_prompt_tokens + config.rollout.max_new_tokens
    seen = None if shape is None else shape.seen_whole
    return config.trainer.share_prompt and (seen is None or longest <= seen)


def largest_micro_batch(config: RunConfig, shape: ModelShape) -> MicroBatch:
    """Rows fill `trainer.micro_batch_tokens`; a row that is longer goes alone, and the answers of a pair together."""
    rollout, name = config.rollout, config.algorithm.name
    together = 2 if name in PAIRS else 1
    answers = rollout.group_size if config.algorithm.samples else together
    longest = rollout.max_prompt_tokens + rollout.max_new_tokens
    if not shares_prompt(config, shape):
        return MicroBatch(max(config.trainer.micro_batch_tokens, together * longest), longest, masked=False)
    least = rollout.max_prompt_tokens + together * rollout.max_new_tokens
    tokens = max(config.trainer.micro_batch_tokens, least)
    row = min(tokens, rollout.max_prompt_tokens + answers * rollout.max_new_tokens)
    return MicroBatch(tokens, row, masked=answers > 1)


def kept(config: RunConfig, shape: ModelShape, size: int, batch: MicroBatch, *, lora: bool, team: int = 1) -> int:
    """Bytes that the backward pass of the body needs. size: bytes of an element. lora: adapters alone are trained.
    team: of so many ranks, which have the mask in full and an even part of all else.

    Recomputation keeps each layer's input, and one layer in full while it is recomputed. Outside the layers the last
    norm keeps its input, in float32, and that normalised; under LoRA its weight is frozen, and as the embedding is too,
    the first layer's norm keeps nothing: that evens out.
    """
    own = -(-batch.tokens // team)
    layer = own * _of_layer(config, shape, size, masked=batch.masked, lora=lora)
    if batch.masked:  # attention makes numbers of the mask, anew in each layer
        layer += batch.tokens * batch.row * size
    outside = own * (0 if lora else 4 + size) * shape.hidden + batch.tokens * batch.row * batch.masked
    if config.trainer.gradient_checkpointing:
        return outside + own * shape.layers * size * shape.hidden + layer
    return outside + shape.layers * layer


def _of_layer(config: RunConfig, shape: ModelShape, size: int, *, masked: bool, lora: bool) -> int:
    """Bytes a token. A layer whose weight is frozen does not need its input, but where an adapter reads it."""
    targets = set(config.model.lora.targets) if lora else {"q_proj", "gate_proj", "down_proj"}
    hidden, mlp = size * shape.hidden, size * shape.intermediate
    norms = 2 * 4 * shape.hidden + (0 if lora else 2 * hidden)  # its input in float32, and that normalised
    norms += hidden * bool(targets & {"q_proj", "k_proj", "v_proj"}) + hidden * bool(targets & {"gate_proj", "up_proj"})
    seen = 2 * shape.queries if masked else 2 * shape.keys  # keys and values; a mask has them repeated for each head
    attention = size * (2 * shape.queries + seen) + 4 * shape.heads
    attention += shape.qk_norm * (4 + size * (not lora)) * (shape.queries + shape.keys)
    between = 3 * mlp + mlp * ("down_proj" in targets)
    return norms + attention + between + lora * size * config.model.lora.rank * len(config.model.lora.targets)


def output_peak(config: RunConfig, shape: ModelShape, size: int, batch: MicroBatch, *, lora: bool) -> int:
    """Bytes at the output, beside what is kept: two chunks of logits in float32, one of another dtype on its way to the
    head or from it, and the gradient of the head's weights and input. A tied head's waits for the embedding's."""
    logits = shape.vocabulary * min(config.trainer.logprob_chunk_tokens, batch.tokens)
    chosen = batch.tokens * size * shape.hidden  # the positions whose next token is trained, a copy
    head = 0 if lora else size * shape.embedding
    return chosen + max((4 * LOGITS + size * (size < 4)) * logits + head + chosen,
                        _passing_of_layer(shape, size, batch) + head * shape.tied)


def value_peak(shape: ModelShape, size: int, batch: MicroBatch) -> int:
    """The same of a critic: its head's float32 input, and that's gradient."""
    return max(2 * 4 * shape.hidden * batch.tokens, _passing_of_layer(shape, size, batch))


def _passing_of_layer(shape: ModelShape, size: int, batch: MicroBatch) -> int:
    """Bytes of gradients while a layer's backward pass runs: of its MLP's two branches and of the hidden states."""
    return batch.tokens * size * 2 * (shape.intermediate + shape.hidden)
