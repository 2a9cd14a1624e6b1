"""Whether a model's folder still holds the model that a run began with: it is the reference on every resume."""

from __future__ import annotations

import json
from pathlib import Path

import xxhash

from reasongym.models import EMBEDDED, model_folder

__all__ = ["model_fingerprint"]

WEIGHTS = ("*.safetensors", "*.bin")
BLOCK = 1 << 16  # bytes that are read at the beginning, the middle and the end of a file: cheap, and no proof


def model_fingerprint(path: str) -> str | None:
    """Of the names, sizes and some bytes of the weights, and of config.json. None where the files are not in a folder
    of the user's: the embedded model cannot change, and a hub id is loaded by its library.

    The version of transformers in config.json is left out: a model that was saved anew is the same model.
    """
    if path == EMBEDDED:
        return None
    folder = Path(model_folder(path))
    if not (folder / "config.json").is_file():
        return None
    hasher = xxhash.xxh3_64()
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config.pop("transformers_version", None)
    hasher.update(json.dumps(config, sort_keys=True).encode())
    for file in sorted(file for pattern in WEIGHTS for file in folder.glob(pattern)):
        size = file.stat().st_size
        hasher.update(f"{file.name} {size}".encode())
        with file.open("rb") as stream:
            for start in (0, size // 2, max(0, size - BLOCK)):
                stream.seek(start)
                hasher.update(stream.read(BLOCK))
    return hasher.hexdigest()
