"""LoRA: low-rank adapters on a partitioned policy, whose own weights stay as they are and are the reference policy.

A layer of weight W, (O, I), computes W x + s B (A x) with A, (R, I), B, (O, R), and s = alpha / R: Hu et al. 2021,
arXiv 2106.09685. B begins at zero, so the first policy is the model. What leaves the trainer is W + s B A under the
model's own names, so an engine and `transformers` need not know of adapters.
"""

# Shapes: I inputs of a layer, O outputs, R rank of the adapters.

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
import xxhash
from torch import Tensor, nn

from reasongym.config.sections import LoraConfig
from reasongym.errors import CheckpointError, ConfigError, message
from reasongym.sync.checksums import digest
from reasongym.training.zero import gathered

__all__ = ["Adapters", "check_lora", "merged_weight"]

NAME = "default"  # PEFT's name of the only adapter of a model
BASE_FILE = "base.json"  # of the weights that the adapters belong to
REFERENCE_FILE = "reference.safetensors"


class Pair(NamedTuple):
    """The names of one layer's adapter among the model's parameters, and s."""

    a: str
    b: str
    scale: float


class Adapters:
    """The adapters of `model`, which gets them in place and is frozen but for them.

    base: the model's own parameters under the names that its checkpoint has. trained: those of the adapters. The seed
    alone decides their first values, so that every rank of any number of ranks has the same. Every method that reads
    weights is a collective under ZeRO-3. Raises ConfigError as `check_lora` does.
    """

    def __init__(self, model: Any, lora: LoraConfig, *, stage: int, seed: int) -> None:
        from peft import LoraConfig as PeftConfig
        from peft import get_peft_model

        layers = target_layers(model, lora)
        config = PeftConfig(r=lora.rank, lora_alpha=lora.alpha,  # type: ignore[arg-type]  # it is divided by the rank, no more
                            target_modules=list(lora.targets), lora_dropout=0.0, task_type="CAUSAL_LM")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.handle = get_peft_model(model, config, autocast_adapter_dtype=False)
        self.lora, self.stage = lora, stage
        parameters = dict(model.named_parameters())
        self.trained = {name: parameter for name, parameter in parameters.items() if parameter.requires_grad}
        self.base = {name.replace(".base_layer.", "."): parameter for name, parameter in parameters.items()
                     if name not in self.trained}
        self.pairs = {f"{layer}.weight": Pair(f"{layer}.lora_A.{NAME}.weight", f"{layer}.lora_B.{NAME}.weight",
                                              lora.alpha / lora.rank) for layer in layers}
        self.renewed: dict[str, Tensor] | None = None
        self.fingerprint = ""

    @contextlib.contextmanager
    def merged(self, names: Sequence[str]) -> Iterator[dict[str, Tensor]]:
        """Base name -> the policy's full weight, for as long as the context lasts. Parameters are only read; what is
        merged is a copy, so a call costs as much memory again as the named weights."""
        pairs = [self.pairs[name] for name in names if name in self.pairs]
        wanted = {name: self.base[name] for name in names}
        wanted |= {name: self.trained[name] for pair in pairs for name in (pair.a, pair.b)}
        with gathered(wanted, stage=self.stage) as full, torch.no_grad():
            yield {name: self._merge(name, full) for name in names}

    def _merge(self, name: str, full: Mapping[str, Tensor]) -> Tensor:
        pair = self.pairs.get(name)
        return full[name] if pair is None else merged_weight(full[name], full[pair.a], full[pair.b], pair.scale)

    @contextlib.contextmanager
    def reference(self) -> Iterator[None]:
        """While it lasts, the model is the reference policy: without its adapters, or with those that were kept."""
        if self.renewed is None:
            with self._scaled(0.0):
                yield
            return
        present = self.values()
        self._overwrite(self.renewed)
        try:
            yield
        finally:
            self._overwrite(present)

    @contextlib.contextmanager
    def _scaled(self, factor: float) -> Iterator[None]:
        """PEFT's own switch leaves modules out, and DeepSpeed records anew in which order it gathers them."""
        from peft.tuners.lora import LoraLayer

        layers = [module for module in self.handle.modules() if isinstance(module, LoraLayer)]
        for layer in layers:
            layer.set_scale(NAME, factor)
        try:
            yield
        finally:
            for layer in layers:
                layer.set_scale(NAME, 1.0)

    def renew_reference(self) -> None:
        """The reference policy becomes the present one: a copy of the adapters, in host memory."""
        self.renewed = self.values()

    def values(self) -> dict[str, Tensor]:
        """Copies of the adapters' whole tensors, in host memory."""
        with gathered(self.trained, stage=self.stage) as full:
            return {name: tensor.detach().to("cpu", copy=True) for name, tensor in full.items()}

    def _overwrite(self, values: Mapping[str, Tensor]) -> None:
        """The optimizer's master copies stay: they are written back over these at its next step."""
        with gathered(self.trained, stage=self.stage, writable=True) as full, torch.no_grad():
            for name, tensor in full.items():
                tensor.copy_(values[name])

    def save(self, folder: str, *, write: bool) -> None:
        """Beside what the ranks save of adapters and optimizer: which weights they belong to, and a renewed reference.

        write: on one rank.
        """
        fingerprint = self.base_fingerprint()
        if not write:
            return
        (Path(folder) / BASE_FILE).write_text(json.dumps({"xxh3": fingerprint}))
        if self.renewed is not None:
            from safetensors.torch import save_file

            save_file(self.renewed, str(Path(folder) / REFERENCE_FILE))

    def load(self, folder: str) -> None:
        """Read what `save` wrote. Raises CheckpointError when the model is not the one that the adapters belong to."""
        saved, found = json.loads((Path(folder) / BASE_FILE).read_text())["xxh3"], self.base_fingerprint()
        if saved != found:
            raise CheckpointError(message("the checkpoint's adapters belong to other weights",
                                          got=f"a model whose weights have the digest {found}", expected=saved,
                                          remedy="put back the model folder that the run began with"))
        path = Path(folder) / REFERENCE_FILE
        if path.exists():
            from safetensors.torch import load_file

            self.renewed = load_file(path)

    def base_fingerprint(self) -> str:
        """A digest of every weight of the model without adapters, which never changes; computed once."""
        if not self.fingerprint:
            hasher = xxhash.xxh3_64()
            for name, parameter in self.base.items():
                with gathered({name: parameter}, stage=self.stage) as full:
                    hasher.update(f"{name} {tuple(full[name].shape)} {digest(full[name])}\n".encode())
            self.fingerprint = hasher.hexdigest()
        return self.fingerprint

    def export(self, folder: str, *, write: bool) -> None:
        """The adapters alone as PEFT's own folder, which `peft.PeftModel.from_pretrained` loads. write: on one rank."""
        values = self.values()
        if write:
            state = {f"base_model.model.{name}": tensor for name, tensor in values.items()}
            # `auto` would ask the hub whether the vocabulary is the model's own.
            self.handle.save_pretrained(folder, state_dict=state, save_embedding_layers=False)


def merged_weight(weight_OI: Tensor, a_RI: Tensor, b_OR: Tensor, scale: float) -> Tensor:
    """W + scale B A of W's dtype: in float32, rounded once."""
    return torch.addmm(weight_OI.float(), b_OR.float(), a_RI.float(), alpha=scale).to(weight_OI.dtype)


def target_layers(model: nn.Module, lora: LoraConfig) -> list[str]:
    """Names of the linear layers that get an adapter. Raises ConfigError for a target without a layer and for a rank
    over a layer's width. The output head gets none: it is often the embedding as well, which is no linear layer."""
    head = model.get_output_embeddings()  # type: ignore[operator]
    linear = {name: module for name, module in model.named_modules()
              if isinstance(module, nn.Linear) and module is not head}
    kinds = sorted({name.rpartition(".")[2] for name in linear})
    unknown = [target for target in lora.targets if target not in kinds]
    if unknown or not lora.targets:
        raise ConfigError(message("model.lora.targets must each name linear layers of the model",
                                  got=f"{', '.join(unknown)}: no such layer" if unknown else "no target",
                                  expected=f"some of {', '.join(kinds)}", remedy="correct model.lora.targets"))
    found = {name: module for name, module in linear.items() if name.rpartition(".")[2] in lora.targets}
    narrow = min(found, key=lambda name: min(found[name].in_features, found[name].out_features))
    width = min(found[narrow].in_features, found[narrow].out_features)
    if lora.rank > width:
        raise ConfigError(message("model.lora.rank is over the width of a layer", got=f"rank {lora.rank}",
                                  expected=f"at most {width}, the smaller side of {narrow}",
                                  remedy=f"lower model.lora.rank, or leave {narrow.rpartition('.')[2]} out of "
                                  "model.lora.targets"))
    return list(found)


def check_lora(lora: LoraConfig, path: str, *, trust_remote_code: bool) -> None:
    """Raises ConfigError, before anything is started, for adapters that do not fit the model; its weights are not
    read."""
    if not lora.rank:
        return
    from transformers import AutoConfig, AutoModelForCausalLM

    config = AutoConfig.from_pretrained(path, trust_remote_code=trust_remote_code)
    with torch.device("meta"):
        target_layers(AutoModelForCausalLM.from_config(config, trust_remote_code=trust_remote_code), lora)
