"""What the plan says that a backward pass needs, held against what autograd keeps."""

from __future__ import annotations

from typing import Any

import pytest

from reasongym.config import load_config
from reasongym.planning import ModelShape
from reasongym.planning.activations import kept as planned_to_keep
from reasongym.planning.activations import largest_micro_batch

pytestmark = pytest.mark.stack

PROMPT, ANSWER, GROUP = 16, 24, 4
WIDTHS = {"hidden_size": 128, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 3,
          "intermediate_size": 256, "vocab_size": 64, "max_position_embeddings": 512, "head_dim": 32}


def _autograd_keeps(kind: str, dtype: str, *, shared: bool, lora: bool, recompute: bool) -> int:
    """Bytes, each storage once, of what the body alone saves for its backward pass; weights left out."""
    import torch
    from torch import nn
    from transformers import AutoConfig, AutoModelForCausalLM

    from reasongym.config.sections import LoraConfig
    from reasongym.training.lora import Adapters
    from reasongym.training.rows import MicroBatch, Row, Sample
    from reasongym.training.tensors import collate

    torch.manual_seed(0)
    model: Any = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **WIDTHS), dtype=getattr(torch, dtype),
                                                  attn_implementation="sdpa")
    if lora:
        Adapters(model, LoraConfig(rank=4), stage=0, seed=0)
    if recompute:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    model.train()
    samples = [Sample(prompt_ids=(1,) * PROMPT, token_ids=(2,) * ANSWER, mask=(True,) * ANSWER) for _ in range(GROUP)]
    rows = (Row(tuple(samples)),) if shared else tuple(Row((sample,)) for sample in samples)
    batch = collate(MicroBatch(rows), device=torch.device("cpu"))
    found: dict[int, int] = {}

    def pack(tensor: Any) -> Any:
        if not isinstance(tensor, nn.Parameter) and not isinstance(tensor._base, nn.Parameter):
            found[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out = model.base_model(input_ids=batch.ids_RL, attention_mask=batch.attention_R1LL,
                               position_ids=batch.positions_RL, use_cache=False).last_hidden_state
    assert out.requires_grad
    return sum(found.values())


def _plan_says(kind: str, dtype: str, *, shared: bool, lora: bool, recompute: bool, layers: int = 3) -> int:
    row = PROMPT + GROUP * ANSWER if shared else GROUP * (PROMPT + ANSWER)
    config = load_config(overrides=(
        f"trainer.share_prompt={str(shared).lower()}", f"trainer.micro_batch_tokens={row}",
        f"rollout.max_prompt_tokens={PROMPT}", f"rollout.max_new_tokens={ANSWER}", f"rollout.group_size={GROUP}",
        f"model.lora.rank={4 * lora}", f"trainer.gradient_checkpointing={str(recompute).lower()}"))
    shape = ModelShape.from_config(WIDTHS | {"model_type": kind, "num_hidden_layers": layers}, name=kind)
    batch = largest_micro_batch(config, shape)
    return planned_to_keep(config, shape, 4 if dtype == "float32" else 2, batch, lora=lora)


@pytest.mark.parametrize(("kind", "dtype", "shared", "lora"), [
    ("llama", "float32", True, False), ("llama", "float32", False, False), ("llama", "float32", True, True),
    ("llama", "bfloat16", True, False), ("llama", "bfloat16", False, True), ("qwen2", "float32", True, False),
    ("qwen3", "float32", True, False), ("qwen3", "bfloat16", False, False), ("qwen3", "float32", False, True)])
def test_activations_are_what_autograd_keeps(kind: str, dtype: str, shared: bool, lora: bool) -> None:
    case: dict[str, Any] = {"shared": shared, "lora": lora, "recompute": False}
    assert _plan_says(kind, dtype, **case) == pytest.approx(_autograd_keeps(kind, dtype, **case), rel=0.03)


def test_recomputation_keeps_the_layers_inputs() -> None:
    case: dict[str, Any] = {"shared": True, "lora": False}
    three, two = (_plan_says("llama", "float32", recompute=False, layers=layers, **case) for layers in (3, 2))
    planned = _plan_says("llama", "float32", recompute=True, **case)
    # the plan has one layer in full, which the forward pass has not: it is made anew, one layer after the other
    kept = _autograd_keeps("llama", "float32", recompute=True, **case)
    assert planned - (three - two) == pytest.approx(kept, rel=0.1)
