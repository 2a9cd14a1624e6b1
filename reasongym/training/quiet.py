"""Other libraries print to the screen; a run prints for itself."""

from __future__ import annotations

import os

__all__ = ["quiet_libraries"]


def quiet_libraries() -> None:
    """Libraries log to the screen through these; set before they are imported."""
    for name, value in {"TRANSFORMERS_VERBOSITY": "error", "HF_HUB_DISABLE_PROGRESS_BARS": "1", "TQDM_DISABLE": "1",
                        "TOKENIZERS_PARALLELISM": "false", "DS_ACCELERATOR_QUIET": "1"}.items():
        os.environ.setdefault(name, value)
