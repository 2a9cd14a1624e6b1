"""The shape of a decoder-only transformer and what follows from it: parameters, KV cache, all without loading it."""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reasongym.errors import ModelError, message

__all__ = ["KNOWN_SHAPES", "ModelShape", "shape_of"]

LARGEST_HEADER = 100 * 1024 * 1024  # the format's own bound on a safetensors header


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """Widths in elements, of a Llama-like layer: grouped-query attention, gated MLP, two RMS norms.

    attention_bias: bias of the query, key and value projections (Qwen2). qk_norm: a norm over each query and key head
    (Qwen3). stored_parameters: counted in the files, so right for other layers too; None where no file was read.
    """

    name: str
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocabulary: int
    context: int
    tied: bool
    attention_bias: bool = False
    qk_norm: bool = False
    stored_parameters: int | None = None

    @property
    def parameters(self) -> int:
        """Number of parameters, tied embeddings counted once."""
        return self.computed_parameters if self.stored_parameters is None else self.stored_parameters

    @property
    def computed_parameters(self) -> int:
        """From the widths alone."""
        queries, keys = self.heads * self.head_dim, self.kv_heads * self.head_dim
        attention = 2 * self.hidden * queries + 2 * self.hidden * keys
        attention += (queries + 2 * keys) * self.attention_bias + 2 * self.head_dim * self.qk_norm
        layer = attention + 3 * self.hidden * self.intermediate + 2 * self.hidden
        embeddings = self.vocabulary * self.hidden * (1 if self.tied else 2)
        return embeddings + self.layers * layer + self.hidden

    def kv_bytes_per_token(self, *, bytes_per_element: int, tensor_parallel: int = 1) -> int:
        """Bytes of KV cache a token takes on one worker; heads are repeated where there are fewer than workers."""
        heads = max(1, self.kv_heads // tensor_parallel)
        return 2 * self.layers * heads * self.head_dim * bytes_per_element

    @classmethod
    def from_folder(cls, path: Path | str) -> ModelShape:
        """From a Hugging Face folder's config.json and safetensors headers. Raises ModelError."""
        folder = Path(path).expanduser()
        try:
            tree = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ModelError(message(f"{folder} is not a model folder", got=f"config.json: {error}",
                                     expected="a Hugging Face folder with config.json",
                                     remedy="name the folder that `save_pretrained` wrote")) from error
        shape = cls.from_config(tree, name=folder.name)
        return replace(shape, stored_parameters=_stored_parameters(folder, tied=shape.tied))

    @classmethod
    def from_config(cls, tree: Mapping[str, Any], *, name: str) -> ModelShape:
        """From the contents of a config.json; the language part of a model with several. Raises ModelError."""
        tree = tree.get("text_config", tree)
        kind = str(tree.get("model_type", ""))
        try:
            hidden, heads = int(tree["hidden_size"]), int(tree["num_attention_heads"])
            return cls(
                name=name, hidden=hidden, heads=heads, layers=int(tree["num_hidden_layers"]),
                kv_heads=int(tree.get("num_key_value_heads") or heads),
                head_dim=int(tree.get("head_dim") or hidden // heads),
                intermediate=int(tree["intermediate_size"]), vocabulary=int(tree["vocab_size"]),
                context=int(tree["max_position_embeddings"]), tied=bool(tree.get("tie_word_embeddings", False)),
                attention_bias=bool(tree.get("attention_bias", kind == "qwen2")), qk_norm=kind == "qwen3",
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(message(f"the shape of {name} cannot be read", got=f"config.json lacks or garbles {error}",
                                     expected="a decoder-only model's hidden_size, num_attention_heads, ...",
                                     remedy="use a Llama-like or Qwen-like model")) from error


def _qwen(name: str, widths: tuple[int, ...], *, vocabulary: int = 152064, tied: bool = False) -> ModelShape:
    """A Qwen2.5. widths: hidden, layers, heads, key-value heads, head width, intermediate."""
    hidden, layers, heads, kv_heads, head_dim, intermediate = widths
    return ModelShape(name=name, hidden=hidden, layers=layers, heads=heads, kv_heads=kv_heads, head_dim=head_dim,
                      intermediate=intermediate, vocabulary=vocabulary, context=32768, tied=tied, attention_bias=True)


SMOLLM2 = ModelShape(name="SmolLM2-135M-Instruct", hidden=576, layers=30, heads=9, kv_heads=3, head_dim=64,
                     intermediate=1536, vocabulary=49152, context=8192, tied=True)
LLAMA_70B = ModelShape(name="Llama-3.1-70B-Instruct", hidden=8192, layers=80, heads=64, kv_heads=8, head_dim=128,
                       intermediate=28672, vocabulary=128256, context=131072, tied=False)

# From each model's published config.json, so that a recipe can be planned on a machine that does not hold the model.
KNOWN_SHAPES: Mapping[str, ModelShape] = {
    "smollm2-135m": SMOLLM2,
    "HuggingFaceTB/SmolLM2-135M-Instruct": SMOLLM2,
    "meta-llama/Llama-3.1-70B-Instruct": LLAMA_70B,
    "Qwen/Qwen2.5-0.5B-Instruct": _qwen("Qwen2.5-0.5B-Instruct", (896, 24, 14, 2, 64, 4864), vocabulary=151936,
                                        tied=True),
    "Qwen/Qwen2.5-1.5B-Instruct": _qwen("Qwen2.5-1.5B-Instruct", (1536, 28, 12, 2, 128, 8960), vocabulary=151936,
                                        tied=True),
    "Qwen/Qwen2.5-7B-Instruct": _qwen("Qwen2.5-7B-Instruct", (3584, 28, 28, 4, 128, 18944)),
    "Qwen/Qwen2.5-72B-Instruct": _qwen("Qwen2.5-72B-Instruct", (8192, 80, 64, 8, 128, 29568)),
}


def shape_of(path: str) -> ModelShape | None:
    """The shape of a configuration's `model.path`: a folder, a hub id that the hub's cache holds, or a known name.

    None where nothing on this machine says; nothing is downloaded. Raises ModelError for a folder that is no model.
    """
    folder = Path(path).expanduser()
    if folder.is_dir():
        return ModelShape.from_folder(folder)
    for cached in _cached_folders(path):
        return ModelShape.from_folder(cached)
    return KNOWN_SHAPES.get(path)


def _cached_folders(hub_id: str) -> list[Path]:
    home = Path(os.environ.get("HF_HOME") or "~/.cache/huggingface").expanduser()
    hub = Path(os.environ.get("HF_HUB_CACHE") or home / "hub")
    snapshots = hub / f"models--{hub_id.replace('/', '--')}" / "snapshots"
    return sorted(found.parent for found in snapshots.glob("*/config.json"))


def _stored_parameters(folder: Path, *, tied: bool) -> int | None:
    """Elements in all safetensors files, a tied head not counted; None where there is no file, or one is damaged."""
    tensors: dict[str, int] = {}
    for file in sorted(folder.glob("*.safetensors")):
        header = _safetensors_header(file)
        if header is None:
            return None
        tensors |= {name: math.prod(entry["shape"]) for name, entry in header.items() if name != "__metadata__"}
    if tied:
        tensors.pop("lm_head.weight", None)
    return sum(tensors.values()) or None


def _safetensors_header(file: Path) -> dict[str, Any] | None:
    """The JSON that precedes the tensors: its length as 8 bytes, little endian, then the text."""
    try:
        with file.open("rb") as stream:
            (length,) = struct.unpack("<Q", stream.read(8))
            header = json.loads(stream.read(length)) if length <= LARGEST_HEADER else None
    except (OSError, ValueError, struct.error):
        return None
    return header if isinstance(header, dict) else None
