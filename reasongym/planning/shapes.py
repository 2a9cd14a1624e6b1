"""The shape of a decoder-only transformer and what follows from it: parameters, KV cache, all without loading it."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from reasongym.errors import ModelError, message

__all__ = ["ModelShape"]

LARGEST_HEADER = 100 * 1024 * 1024  # the format's own bound on a safetensors header
HEAD_DIMS = {"qwen3": 128}  # where a file does not say; of others the hidden width is divided by the heads
BY_MASK = frozenset({"full_attention", "attention", "sliding_attention", "chunked_attention"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """Widths in elements, of a Llama-like layer: grouped-query attention, gated MLP, two RMS norms.

    attention_bias: bias of the query, key and value projections (Qwen2). qk_norm: a norm over each query and key head
    (Qwen3). seen_whole: tokens up to which every layer sees all of a text, so that several answers may share a row (see
    `training.sharing`); None without such a bound. stored_parameters: counted in the files, so right for other layers
    too; None where no file was read.
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
    seen_whole: int | None = None
    stored_parameters: int | None = None

    @property
    def parameters(self) -> int:
        """Number of parameters, tied embeddings counted once."""
        return self.computed_parameters if self.stored_parameters is None else self.stored_parameters

    @property
    def computed_parameters(self) -> int:
        """From the widths alone."""
        attention = 2 * self.hidden * self.queries + 2 * self.hidden * self.keys
        attention += (self.queries + 2 * self.keys) * self.attention_bias + 2 * self.head_dim * self.qk_norm
        layer = attention + 3 * self.hidden * self.intermediate + 2 * self.hidden
        return self.embedding * (1 if self.tied else 2) + self.layers * layer + self.hidden

    @property
    def queries(self) -> int:
        """Width of all query heads."""
        return self.heads * self.head_dim

    @property
    def keys(self) -> int:
        """Width of all key heads, and of all value heads."""
        return self.kv_heads * self.head_dim

    @property
    def embedding(self) -> int:
        """Elements of the embedding, and of the output head."""
        return self.vocabulary * self.hidden

    def divided(self, size: int) -> ModelShape:
        """What a rank has of layers that it holds together with others of `size` ranks. Embedding and output head are
        whole; the norms, which are whole too, count as divided: they are a thousandth."""
        if size == 1:
            return self
        outside = self.embedding * (1 if self.tied else 2)
        return replace(self, heads=self.heads // size, kv_heads=self.kv_heads // size,
                       intermediate=self.intermediate // size,
                       stored_parameters=outside + -(-(self.parameters - outside) // size))

    def kv_bytes_per_token(self, *, bytes_per_element: int, tensor_parallel: int = 1) -> int:
        """Bytes of KV cache a token takes on one worker; heads are repeated where there are fewer than workers."""
        heads = max(1, self.kv_heads // tensor_parallel)
        return 2 * self.layers * heads * self.head_dim * bytes_per_element

    @classmethod
    def from_folder(cls, path: Path | str) -> ModelShape:
        """From a Hugging Face folder's config.json and safetensors headers. Raises ModelError."""
        folder = Path(path).expanduser()
        shape = cls.from_file(folder / "config.json")
        return replace(shape, stored_parameters=_stored_parameters(folder, tied=shape.tied))

    @classmethod
    def from_file(cls, path: Path | str) -> ModelShape:
        """From a config.json alone, named after its folder. Raises ModelError."""
        file = Path(path).expanduser()
        try:
            tree = json.loads(file.read_text(encoding="utf-8"))
            if not isinstance(tree, dict):
                raise ValueError(f"{type(tree).__name__}, not an object")
        except (OSError, ValueError) as error:
            raise ModelError(message(f"{file.parent} is not a model folder", got=f"{file.name}: {error}",
                                     expected="a Hugging Face folder with config.json",
                                     remedy="name the folder that `save_pretrained` wrote")) from error
        return cls.from_config(tree, name=file.absolute().parent.name)

    @classmethod
    def from_config(cls, tree: Mapping[str, Any], *, name: str) -> ModelShape:
        """From the contents of a config.json; the language part of a model with several. Raises ModelError."""
        try:
            tree = tree.get("text_config", tree)
            kind = str(tree.get("model_type", ""))
            hidden, heads = int(tree["hidden_size"]), int(tree["num_attention_heads"])
            shape = cls(
                name=name, hidden=hidden, heads=heads, layers=int(tree["num_hidden_layers"]),
                kv_heads=int(tree.get("num_key_value_heads") or heads),
                head_dim=int(tree.get("head_dim") or HEAD_DIMS.get(kind) or hidden // heads),
                intermediate=int(tree["intermediate_size"]), vocabulary=int(tree["vocab_size"]),
                context=int(tree["max_position_embeddings"]), tied=bool(tree.get("tie_word_embeddings", False)),
                attention_bias=bool(tree.get("attention_bias", kind == "qwen2")), qk_norm=kind == "qwen3",
                seen_whole=_seen_whole(tree),
            )
        except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
            raise ModelError(message(f"the shape of {name} cannot be read", got=f"config.json lacks or garbles {error}",
                                     expected="a decoder-only model's hidden_size, num_attention_heads, ...",
                                     remedy="use a Llama-like or Qwen-like model")) from error
        return _checked(shape)


def _checked(shape: ModelShape) -> ModelShape:
    """Raises ModelError for a width that is not positive: what is divided by it would be no number."""
    widths = ("hidden", "layers", "heads", "kv_heads", "head_dim", "intermediate", "vocabulary", "context")
    wrong = [f"{width} {getattr(shape, width)}" for width in widths if getattr(shape, width) < 1]
    if wrong:
        raise ModelError(message(f"the shape of {shape.name} is impossible", got=", ".join(wrong),
                                 expected="widths of 1 and more", remedy="correct its config.json"))
    return shape


def _seen_whole(tree: Mapping[str, Any]) -> int | None:
    """What `training.sharing.context_seen` finds in the configuration that transformers makes of the file: the file may
    leave out which layers have the window, and then it counts for all."""
    kinds = set(tree.get("layer_types") or ())
    if kinds - BY_MASK or tree.get("alibi"):
        return 0
    bounds: list[object] = []
    if not kinds and int(tree["num_hidden_layers"]) <= int(tree.get("max_window_layers") or 0):
        return None  # the layers below it see everything
    if "sliding_attention" in kinds or (not kinds and tree.get("use_sliding_window", True)):
        bounds.append(tree.get("sliding_window", 0 if kinds else None))
    if "chunked_attention" in kinds or (not kinds and "attention_chunk_size" in tree):
        bounds.append(tree.get("attention_chunk_size", 0))
    known = [bound for bound in bounds if bound is not None]
    if not known:
        return None
    return min(bound if isinstance(bound, int) else 0 for bound in known)


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
