"""Widths of public models, so that a run can be planned on a machine that does not hold them.

From each model's published config.json, which the hub shows at huggingface.co/<name>/blob/main/config.json. What the
widths add up to is held against the number of parameters that the hub states.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from reasongym.planning.shapes import ModelShape

__all__ = ["KNOWN_SHAPES", "shape_of"]


class _Widths(NamedTuple):
    """In the order of the table's columns; `context` in tokens."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocabulary: int
    context: int
    tied: bool


#                hidden layers heads kv  width  MLP  vocabulary context tied
QWEN25 = {  # biases on queries, keys and values
    "0.5B": _Widths(896, 24, 14, 2, 64, 4864, 151936, 32768, True),
    "1.5B": _Widths(1536, 28, 12, 2, 128, 8960, 151936, 32768, True),
    "3B": _Widths(2048, 36, 16, 2, 128, 11008, 151936, 32768, True),
    "7B": _Widths(3584, 28, 28, 4, 128, 18944, 152064, 32768, False),
    "14B": _Widths(5120, 48, 40, 8, 128, 13824, 152064, 32768, False),
    "32B": _Widths(5120, 64, 40, 8, 128, 27648, 152064, 32768, False),
    "72B": _Widths(8192, 80, 64, 8, 128, 29568, 152064, 32768, False),
}
QWEN3 = {  # a norm over each query and key head
    "0.6B": _Widths(1024, 28, 16, 8, 128, 3072, 151936, 40960, True),
    "1.7B": _Widths(2048, 28, 16, 8, 128, 6144, 151936, 40960, True),
    "4B": _Widths(2560, 36, 32, 8, 128, 9728, 151936, 40960, True),
    "8B": _Widths(4096, 36, 32, 8, 128, 12288, 151936, 40960, False),
    "14B": _Widths(5120, 40, 40, 8, 128, 17408, 151936, 40960, False),
    "32B": _Widths(5120, 64, 64, 8, 128, 25600, 151936, 40960, False),
}
LLAMA = {
    "Llama-3.2-1B": _Widths(2048, 16, 32, 8, 64, 8192, 128256, 131072, True),
    "Llama-3.2-3B": _Widths(3072, 28, 24, 8, 128, 8192, 128256, 131072, True),
    "Llama-3.1-8B": _Widths(4096, 32, 32, 8, 128, 14336, 128256, 131072, False),
    "Llama-3.1-70B": _Widths(8192, 80, 64, 8, 128, 28672, 128256, 131072, False),
    "Llama-3.1-405B": _Widths(16384, 126, 128, 8, 128, 53248, 128256, 131072, False),
}
SMOLLM2 = {
    "135M": _Widths(576, 30, 9, 3, 64, 1536, 49152, 8192, True),
    "360M": _Widths(960, 32, 15, 5, 64, 2560, 49152, 8192, True),
    "1.7B": _Widths(2048, 24, 32, 32, 64, 8192, 49152, 8192, True),
}
EMBEDDED = "smollm2-135m"


def _shapes() -> Iterator[tuple[str, ModelShape]]:
    """Hub id and shape; a model and its instruction-tuned form have the same."""
    for size, widths in QWEN25.items():
        shape = replace(_shape(f"Qwen2.5-{size}", widths), attention_bias=True)
        yield from _both("Qwen", shape)
    for size, widths in QWEN3.items():
        yield f"Qwen/Qwen3-{size}", replace(_shape(f"Qwen3-{size}", widths), qk_norm=True)
    for name, widths in LLAMA.items():
        yield from _both("meta-llama", _shape(name, widths))
    for size, widths in SMOLLM2.items():
        yield from _both("HuggingFaceTB", _shape(f"SmolLM2-{size}", widths))
    yield EMBEDDED, _shape("SmolLM2-135M-Instruct", SMOLLM2["135M"])


def _both(owner: str, shape: ModelShape) -> Iterator[tuple[str, ModelShape]]:
    for name in (shape.name, f"{shape.name}-Instruct"):
        yield f"{owner}/{name}", replace(shape, name=name)


def _shape(name: str, widths: _Widths) -> ModelShape:
    return ModelShape(name=name, **widths._asdict())


KNOWN_SHAPES: Mapping[str, ModelShape] = dict(_shapes())
"""Hub id, or the embedded model's name, to its shape."""


def shape_of(path: str) -> ModelShape | None:
    """The shape of a configuration's `model.path`: a folder, a config.json, a hub id that the hub's cache holds, or a
    known name.

    None where nothing on this machine says; nothing is downloaded. Raises ModelError for a folder that is no model.
    """
    here = Path(path).expanduser()
    if here.is_dir():
        return ModelShape.from_folder(here)
    if here.suffix == ".json" and here.is_file():
        return ModelShape.from_file(here)
    for cached in _cached_folders(path):
        return ModelShape.from_folder(cached)
    return KNOWN_SHAPES.get(path)


def _cached_folders(hub_id: str) -> list[Path]:
    home = Path(os.environ.get("HF_HOME") or "~/.cache/huggingface").expanduser()
    hub = Path(os.environ.get("HF_HUB_CACHE") or home / "hub")
    snapshots = hub / f"models--{hub_id.replace('/', '--')}" / "snapshots"
    return sorted(found.parent for found in snapshots.glob("*/config.json"))
