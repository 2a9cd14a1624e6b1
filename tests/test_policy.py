"""The policy's log-probabilities: however samples are laid out, they are those of each sequence read alone."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from reasongym.errors import ModelError
from reasongym.training.policy import Policy, load_policy
from reasongym.training.rows import MicroBatch, Row, Sample, pack_rows
from reasongym.training.tensors import collate

pytestmark = pytest.mark.stack
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def model() -> Any:
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=61, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=True)
    return LlamaForCausalLM(config).double()


def samples() -> list[Sample]:
    generator = torch.Generator().manual_seed(1)

    def draw(n: int) -> tuple[int, ...]:
        return tuple(torch.randint(0, 61, (n,), generator=generator).tolist())

    prompt, other = draw(7), draw(4)
    return [Sample(prompt_ids=p, token_ids=draw(n), mask=(True,) * n)
            for p, n in ((prompt, 5), (prompt, 1), (prompt, 9), (other, 3), (other, 6))]


def read_alone(model: Any, sample: Sample, temperature: float) -> torch.Tensor:
    """The slow twin: the whole sequence through the model, log-softmax of everything, one position at a time."""
    ids = torch.tensor([(*sample.prompt_ids, *sample.token_ids)])
    logits = model(ids).logits[0].double() / temperature
    start = len(sample.prompt_ids)
    return torch.stack([logits[start + t - 1].log_softmax(-1)[token] for t, token in enumerate(sample.token_ids)])


@pytest.mark.parametrize("share_prompt", [True, False])
@pytest.mark.parametrize("budget", [1000, 17, 1])
def test_layout_never_changes_a_logprob(model: Any, share_prompt: bool, budget: int) -> None:
    policy = Policy(model, temperature=0.7, chunk_tokens=3)
    rows = pack_rows(samples(), share_prompt=share_prompt, budget=budget)
    output = policy(collate(MicroBatch(tuple(rows)), device=CPU))
    for sample, logprobs_T in zip([s for row in rows for s in row.samples], output.logprobs_BT, strict=True):
        expected_T = read_alone(model, sample, 0.7)
        torch.testing.assert_close(logprobs_T[:len(expected_T)], expected_T, rtol=1e-9, atol=1e-9)
        assert not logprobs_T[len(expected_T):].any()


def test_a_completion_does_not_see_its_neighbours_in_the_row(model: Any) -> None:
    policy = Policy(model, temperature=1.0, chunk_tokens=100)
    first, second, third, *_ = samples()
    changed = Sample(prompt_ids=first.prompt_ids, token_ids=(3, 3, 3, 3, 3), mask=first.mask)
    before = policy(collate(MicroBatch((Row((first, second, third)),)), device=CPU)).logprobs_BT[2]
    after = policy(collate(MicroBatch((Row((changed, second, third)),)), device=CPU)).logprobs_BT[2]
    torch.testing.assert_close(before, after, rtol=0, atol=1e-12)


def test_masked_tokens_get_no_logprob_but_are_read_as_context(model: Any) -> None:
    policy = Policy(model, temperature=1.0, chunk_tokens=100)
    whole = samples()[2]
    tool = Sample(prompt_ids=whole.prompt_ids, token_ids=whole.token_ids,
                  mask=(True, True, False, False, True, True, True, True, True))
    full, cut = (policy(collate(MicroBatch((Row((s,)),)), device=CPU)).logprobs_BT[0] for s in (whole, tool))
    kept = torch.tensor(tool.mask, dtype=torch.bool)
    torch.testing.assert_close(cut, torch.where(kept, full, 0.0))


def test_an_empty_micro_batch_has_a_gradient_of_zero_for_every_parameter_of_the_head(model: Any) -> None:
    # Under ZeRO-3 a rank without samples must run the same modules forward and backward as the others.
    policy = Policy(model, temperature=1.0, chunk_tokens=100)
    model.zero_grad()
    policy(collate(MicroBatch(()), device=CPU)).logprobs_BT.sum().backward()
    gradients = [p.grad for p in model.parameters()]
    assert all(g is not None and not g.any() for g in gradients)


def test_a_head_with_a_bias_is_read_with_it(model: Any) -> None:
    biased = copy.deepcopy(model)
    biased.lm_head.bias = nn.Parameter(torch.linspace(-2, 2, 61, dtype=torch.float64))
    sample = samples()[0]
    output = Policy(biased, temperature=0.7, chunk_tokens=3)(collate(MicroBatch((Row((sample,)),)), device=CPU))
    torch.testing.assert_close(output.logprobs_BT[0], read_alone(biased, sample, 0.7), rtol=1e-9, atol=1e-9)
    output.logprobs_BT.sum().backward()
    assert biased.lm_head.bias.grad is not None
    assert biased.lm_head.bias.grad.any()


def test_a_head_that_is_more_than_its_weights_is_refused(
        model: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers import LlamaForCausalLM

    class Halved(nn.Linear):
        def forward(self, hidden: torch.Tensor) -> torch.Tensor:
            return 0.5 * super().forward(hidden)

    model.save_pretrained(tmp_path)
    load_policy(str(tmp_path), dtype=torch.float32, trust_remote_code=False, gradient_checkpointing=False)
    monkeypatch.setattr(LlamaForCausalLM, "get_output_embeddings", lambda self: Halved(32, 61))
    with pytest.raises(ModelError, match="output head is not supported\n  got:      Halved"):
        load_policy(str(tmp_path), dtype=torch.float32, trust_remote_code=False, gradient_checkpointing=False)
