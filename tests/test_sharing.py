"""Which models may read several answers in a row: the log-probabilities are those of each answer read alone."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the training stack is not installed")

import transformers  # noqa: E402

from reasongym.config import load_config  # noqa: E402
from reasongym.training.opening import shares_prompt  # noqa: E402
from reasongym.training.policy import Policy  # noqa: E402
from reasongym.training.rows import Sample, batches_of  # noqa: E402
from reasongym.training.sharing import context_seen, may_share_rows  # noqa: E402
from reasongym.training.tensors import collate  # noqa: E402

pytestmark = pytest.mark.stack

SIZES = {"vocab_size": 61, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2,
         "num_key_value_heads": 1, "initializer_range": 0.3}
LONGEST = 7 + 8
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("Llama", {}),
    "mistral": ("Mistral", {"sliding_window": 4}),
    "mistral-without-window": ("Mistral", {"sliding_window": None}),
    "mistral-as-wide-as-the-text": ("Mistral", {"sliding_window": LONGEST}),
    "mistral-too-narrow": ("Mistral", {"sliding_window": LONGEST - 2}),  # the last token's own context is LONGEST - 1
    "gemma3": ("Gemma3Text", {"sliding_window": 4, "head_dim": 8,
                              "layer_types": ["sliding_attention", "full_attention"]}),
    "qwen2": ("Qwen2", {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 0}),
    "qwen2-window-unused": ("Qwen2", {"use_sliding_window": False, "sliding_window": 4}),
    "mamba": ("Mamba", {"state_size": 4}),
}
MAY_SHARE = {"llama", "mistral-without-window", "mistral-as-wide-as-the-text", "qwen2-window-unused"}


def config_of(name: str) -> Any:
    family, more = MODELS[name]
    sizes = {key: SIZES[key] for key in ("vocab_size", "hidden_size", "num_hidden_layers")} if family == "Mamba" \
        else SIZES
    return getattr(transformers, f"{family}Config")(**sizes, **more)


def model_of(name: str) -> Any:
    torch.manual_seed(0)
    return transformers.AutoModelForCausalLM.from_config(config_of(name)).double().eval()


def samples() -> list[Sample]:
    """Pairs of answers to one prompt of 7 tokens, the longest of 8."""
    generator = torch.Generator().manual_seed(0)

    def draw(n: int) -> tuple[int, ...]:
        return tuple(torch.randint(0, 61, (n,), generator=generator).tolist())

    prompt = draw(7)
    return [Sample(prompt_ids=prompt, token_ids=draw(n), mask=(True,) * n) for n in (6, 8, 5, 7)]


def largest_error(model: Any, *, share_prompt: bool, together: int) -> float:
    """Of a log-probability, against the whole sequence through the model by itself."""
    policy, worst = Policy(model, temperature=1.0, chunk_tokens=64), 0.0
    for micro in batches_of(samples(), share_prompt=share_prompt, budget=40, together=together):
        found = policy(collate(micro, device=torch.device("cpu"))).logprobs_BT.detach()
        for sample, found_T in zip(micro.samples, found, strict=True):
            logits = model(input_ids=torch.tensor([(*sample.prompt_ids, *sample.token_ids)])).logits[0].detach()
            alone = logits[6:-1].log_softmax(-1)[range(len(sample.token_ids)), list(sample.token_ids)]
            worst = max(worst, float((found_T[:len(alone)] - alone).abs().max()))
    return worst


@pytest.fixture(params=MODELS)
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    config_of(request.param).save_pretrained(tmp_path)
    return str(request.param)


@pytest.mark.parametrize("together", [1, 2])
def test_no_layer_sees_more_or_less_of_an_answer_because_of_its_row(saved: str, together: int, tmp_path: Path) -> None:
    share = may_share_rows(str(tmp_path), longest=LONGEST, trust_remote_code=False)
    assert share == (saved in MAY_SHARE)
    # Norms and the state of Mamba compute in float32 whatever they are asked.
    assert largest_error(model_of(saved), share_prompt=share, together=together) < 1e-5


@pytest.mark.parametrize("name", ["mistral", "mistral-too-narrow", "gemma3", "qwen2"])
def test_a_shared_row_is_wrong_under_a_window_so_the_refusal_is_needed(name: str) -> None:
    assert largest_error(model_of(name), share_prompt=True, together=1) > 1e-3


@pytest.mark.parametrize(("more", "seen"), [
    ({"layer_types": ["full_attention"]}, math.inf),
    ({"layer_types": ["full_attention", "linear_attention"]}, 0),
    ({"layer_types": ["chunked_attention"], "attention_chunk_size": 64}, 64),
    ({"layer_types": ["sliding_attention"]}, 0),  # a window of no known size
    ({"sliding_window": [128, None]}, 0),
    ({"alibi": True}, 0),
    ({}, math.inf)])
def test_what_a_configuration_does_not_say_for_certain_shares_nothing(more: dict[str, Any], seen: float) -> None:
    class Text:
        def get_text_config(self) -> Any:
            return self

    config = Text()
    for key, value in more.items():
        setattr(config, key, value)
    assert context_seen(config) == seen


@pytest.mark.parametrize(("more", "shared"), [
    ((), True), (("rollout.max_new_tokens=9",), False), (("trainer.share_prompt=false",), False)])
def test_the_longest_answer_of_the_run_decides(more: tuple[str, ...], shared: bool, tmp_path: Path) -> None:
    config_of("mistral-as-wide-as-the-text").save_pretrained(tmp_path)
    config = load_config(overrides=["rollout.max_prompt_tokens=7", "rollout.max_new_tokens=8", *more])
    assert shares_prompt(config, str(tmp_path)) is shared


def test_pairs_in_two_rows_stay_side_by_side_and_in_order() -> None:
    pairs = samples()
    for budget in (1, 40, 1000):
        found = batches_of(pairs, share_prompt=False, budget=budget, together=2)
        cut = [batch.samples[i:i + 2] for batch in found for i in range(0, len(batch.samples), 2)]
        assert sorted(cut, key=lambda pair: pairs.index(pair[0])) == [
            (pairs[0], pairs[1]), (pairs[2], pairs[3])]
