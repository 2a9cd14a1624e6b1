"""Digests of the weights an engine multiplies with: fused projections, packed copies, tied heads."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the training stack is not installed")

from reasongym.sync.checksums import digest  # noqa: E402
from reasongym.sync.engine_side import digests, repack_tied_heads  # noqa: E402


class Packed(torch.nn.Module):  # type: ignore[misc]
    """Multiplies with a copy made by `process_weights_after_loading`, as vLLM's CPU layers do."""

    def __init__(self, weight: Any, *, drop: bool = False) -> None:
        super().__init__()
        self.input_size_per_partition = weight.shape[1]
        self.weight = weight if isinstance(weight, torch.nn.Parameter) else torch.nn.Parameter(weight)
        self.quant_method = self
        self.process_weights_after_loading(self)
        if drop:
            self.weight = torch.nn.Parameter(torch.empty(0))

    def process_weights_after_loading(self, layer: Any) -> None:
        packed = self.weight.detach().clone()
        self.cpu_linear = lambda x, weight, bias: x @ packed.T


class Attention(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.qkv_proj = Packed(torch.randn(8, 300), drop=True)
        self.qkv_proj.output_sizes = [4, 2, 2]


class Model(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.packed_modules_mapping = {"qkv_proj": ["q_proj", "k_proj", "v_proj"]}
        torch.manual_seed(0)
        self.embed = Packed(torch.randn(10, 6))
        self.attention = Attention()
        self.norm = torch.nn.LayerNorm(5, bias=False)
        self.lm_head = Packed(self.embed.weight)


def test_a_fused_and_dropped_projection_is_read_back_exactly_by_its_checkpoint_names() -> None:
    torch.manual_seed(0)
    weight = torch.randn(8, 300)
    model = Model()
    model.attention.qkv_proj = Packed(weight, drop=True)
    model.attention.qkv_proj.output_sizes = [4, 2, 2]
    found = digests(model)
    assert [found[f"attention.{part}_proj.weight"] for part in "qkv"] == [digest(p) for p in weight.split([4, 2, 2])]
    assert found["norm.weight"] == digest(torch.ones(5))


def test_a_tied_head_with_a_stale_packed_copy_is_noticed_under_the_embeddings_name() -> None:
    model = Model()
    before = digests(model)["embed.weight"]
    assert before == digest(model.embed.weight)
    with torch.no_grad():
        model.embed.weight += 1.0
    model.embed.process_weights_after_loading(model.embed)  # what vLLM's reload does: the loaded layer alone
    assert "lm_head" in digests(model)["embed.weight"]
    repack_tied_heads(model)
    assert digests(model)["embed.weight"] == digest(model.embed.weight) != before


def test_a_layer_that_multiplies_with_an_old_copy_is_noticed() -> None:
    model = Model()
    with torch.no_grad():
        model.embed.weight += 1.0
    assert digests(model)["embed.weight"] != digest(model.embed.weight)


def test_repacking_leaves_untied_layers_alone() -> None:
    model = Model()
    model.lm_head = Packed(model.embed.weight.detach().clone())
    packed = model.lm_head.cpu_linear
    repack_tied_heads(model)
    assert model.lm_head.cpu_linear is packed
