"""Layers that multiply with a packed copy of their weight, as vLLM's do on CPU, in a small model."""

from __future__ import annotations

from typing import Any

import torch


class Packed(torch.nn.Module):
    """A linear layer or an embedding. drop: the plain weight is not kept."""

    def __init__(self, weight: Any, *, drop: bool = False) -> None:
        super().__init__()
        self.input_size_per_partition = weight.shape[1]
        self.weight = weight if isinstance(weight, torch.nn.Parameter) else torch.nn.Parameter(weight)
        self.quant_method, self.drop = self, drop
        self.process_weights_after_loading(self)

    def process_weights_after_loading(self, layer: Any) -> None:
        packed = layer.weight.detach().clone()
        layer.cpu_linear = lambda x, weight, bias: x @ packed.T
        if self.drop:
            layer.weight = torch.nn.Parameter(torch.empty(0))


class Attention(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv_proj = Packed(torch.randn(8, 300), drop=True)
        self.qkv_proj.output_sizes = [4, 2, 2]


class Model(torch.nn.Module):
    """An embedding that the head shares, a fused projection and a norm."""

    def __init__(self) -> None:
        super().__init__()
        self.packed_modules_mapping = {"qkv_proj": ["q_proj", "k_proj", "v_proj"]}
        torch.manual_seed(0)
        self.embed = Packed(torch.randn(10, 6))
        self.attention = Attention()
        self.norm = torch.nn.LayerNorm(5, bias=False)
        self.lm_head = Packed(self.embed.weight)
