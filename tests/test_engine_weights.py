"""Digests of the weights an engine multiplies with: fused projections, packed copies, tied heads."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the training stack is not installed")

from packed_layers import Model, Packed  # noqa: E402

from reasongym.sync.checksums import Columns, digest  # noqa: E402
from reasongym.sync.in_use import digests, repack_tied_heads  # noqa: E402


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


@pytest.mark.parametrize("number", range(8))
def test_an_old_copy_is_noticed_in_any_part_of_its_columns(number: int) -> None:
    model, columns = Model(), Columns(number, 8)
    assert digests(model, columns)["embed.weight"] == digest(columns.cut(model.embed.weight))
    with torch.no_grad():
        model.embed.weight += 1.0
    assert digests(model, columns)["embed.weight"] != digest(columns.cut(model.embed.weight))


def test_repacking_leaves_untied_layers_alone() -> None:
    model = Model()
    model.lm_head = Packed(model.embed.weight.detach().clone())
    packed = model.lm_head.cpu_linear
    repack_tied_heads(model)
    assert model.lm_head.cpu_linear is packed
