"""Tensor parallelism: the ranks of a team hold a part of each layer's matrices and of its heads, and read the same rows
together (Megatron-LM, arXiv 1909.08053). DeepSpeed's AutoTP divides the layers in place and adds up what they give;
which layers, and along which side, says the plan that transformers ships with a model.

Embedding and output head stay whole on every rank, so that `Policy` reads them as ever: every rank of a team has the
whole loss and the whole gradient of what is not divided. What leaves the trainer is put together here.

Not covered: plans that gather outputs or divide a fused matrix (Phi-3), experts, models with a vision part, and heads
that the size of a team does not divide.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor, nn

from reasongym.errors import ModelError, message

__all__ = ["check_layers", "divided_by", "layers_of", "pass_rows_unchecked", "put_together", "whole_shape"]

META = "ds_autotp_universal_checkpoint_meta"
"""DeepSpeed's note on a parameter of how it was divided (`deepspeed.checkpoint.constants.DS_AUTOTP_UC_META`)."""
WHOLE = "embedding_rowwise"  # a tied embedding, which transformers may divide and we do not
STYLES: Mapping[str, Mapping[str, Any]] = {
    "colwise": {"partition_type": "column"},
    "rowwise": {"partition_type": "row"},
    # A norm over the width of a head: whole, and each rank's heads give it a part of its gradient.
    "replicated_with_grad_allreduce": {"partition_type": "skip", "grad_allreduce": True},
}


class Cut(NamedTuple):
    """How a parameter was divided: evenly along this dimension. shape: of the whole."""

    dimension: int
    shape: tuple[int, ...]


def layers_of(plan: Mapping[str, str] | None, *, name: str) -> list[dict[str, Any]]:
    """DeepSpeed's specifications of the layers of a transformers plan, such as `layers.*.mlp.up_proj: colwise`.

    Raises ModelError for a model without a plan, or with one that is not of the kinds above. name: of the model.
    """
    styles = {layer: style for layer, style in (plan or {}).items() if style != WHOLE}
    strange = sorted(set(styles.values()) - set(STYLES))
    if strange or not styles:
        raise ModelError(message(f"the layers of {name} cannot be divided over ranks",
                                 got=f"layers divided as {', '.join(strange)}" if strange else "no plan of its layers",
                                 expected=f"a plan in transformers of {' and '.join(sorted(STYLES))}",
                                 remedy="trainer.tensor_parallel=1, with trainer.zero_stage=3"))
    return [{"patterns": [rf".*\.{re.escape(layer).replace(re.escape('*'), '[0-9]+')}\.weight$"], **STYLES[style]}
            for layer, style in styles.items()]


def divided_by(size: int, policy: nn.Module) -> dict[str, Any]:
    """DeepSpeed's configuration by which an engine divides a `Policy` over teams of `size` ranks; nothing for 1. Raises
    ModelError as `layers_of` does."""
    if size == 1:
        return {}
    model: Any = policy.model
    config = model.config
    layers = layers_of(config.base_model_tp_plan, name=config.name_or_path)
    if not any(parameter.requires_grad for parameter in policy.parameters()):
        layers = [layer for layer in layers if "grad_allreduce" not in layer]  # a hook, which nothing frozen takes
    return {"tensor_parallel": {"autotp_size": size,
                                "partition_config": {"use_default_specs": False, "layer_specs": layers}}}


def check_layers(path: str, size: int, *, trust_remote_code: bool) -> None:
    """Raises ModelError, before anything is started, where a model cannot be divided; its weights are not read."""
    if size == 1:
        return
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(path, trust_remote_code=trust_remote_code)
    layers_of(config.base_model_tp_plan, name=path)
    widths = {name: int(getattr(config, name, 0) or 0)
              for name in ("num_attention_heads", "num_key_value_heads", "intermediate_size")}
    odd = [f"{name} {width}" for name, width in widths.items() if width % size]
    if odd:
        raise ModelError(message(f"trainer.tensor_parallel does not divide the layers of {path}",
                                 got=f"{size} ranks for {', '.join(odd)}", expected="a divisor of each",
                                 remedy="change trainer.tensor_parallel"))


def pass_rows_unchecked(engine: Any) -> None:
    """DeepSpeed compares the first rows of a team's ranks and knows tensors in plain containers only: a Batch fails.
    Ranks of a team are given the same rows by `RankGroup`."""
    engine.first_dataloader_check.remove()


def whole_shape(parameter: Tensor) -> tuple[int, ...]:
    """Also where this rank holds a part of it."""
    cut = _cut(parameter)
    return cut.shape if cut else tuple(parameter.shape)


@contextlib.contextmanager
def put_together(parameters: Mapping[str, nn.Parameter], *, writable: bool = False) -> Iterator[dict[str, Tensor]]:
    """Name -> whole tensor on every rank while the context lasts: a collective of a team where any is divided.

    What was divided is a copy: DeepSpeed's own gathering is a collective a parameter, and leaves each with a tensor of
    its own beside the optimizer's flat buffer until the next step. writable: what is written is kept; every rank writes
    the same.
    """
    cuts = {name: cut for name, parameter in parameters.items() if (cut := _cut(parameter))}
    whole = {name: parameter.data for name, parameter in parameters.items()} | _gathered(parameters, cuts)
    yield whole
    if writable:
        for name, cut in cuts.items():
            own = parameters[name].data
            width = own.shape[cut.dimension]
            own.copy_(whole[name].narrow(cut.dimension, dist.get_rank(_group()) * width, width))


def _gathered(parameters: Mapping[str, nn.Parameter], cuts: Mapping[str, Cut]) -> dict[str, Tensor]:
    """In one collective, as one flat tensor."""
    if not cuts:
        return {}
    own = {name: parameters[name].data for name in cuts}
    flat = torch.cat([part.reshape(-1) for part in own.values()])
    flats = [torch.empty_like(flat) for _ in range(dist.get_world_size(_group()))]
    dist.all_gather(flats, flat, group=_group())
    by_rank = [torch.split(flat, [part.numel() for part in own.values()]) for flat in flats]
    return {name: torch.cat([piece.view(own[name].shape) for piece in pieces], cuts[name].dimension)
            for name, pieces in zip(own, zip(*by_rank, strict=True), strict=True)}


def _cut(parameter: Tensor) -> Cut | None:
    meta = getattr(parameter, META, None)
    if meta is None or meta["partition_dim"] is None:
        return None
    return Cut(meta["partition_dim"], tuple(meta["logical_shape"]))


def _group() -> Any:
    """Of the ranks of this rank's team."""
    from deepspeed.utils import groups

    return groups.get_tensor_model_parallel_group()
