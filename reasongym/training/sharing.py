"""Which models may read several answers to a prompt in one row.

In a shared row the attention mask alone says what each token sees: the prompt and its own answer. A layer that sees a
window of its context only would need a mask of its own, and one that carries a state through the row would carry it
from answer to answer. There every answer is a row of its own, which is exact for any causal model.
"""

from __future__ import annotations

import math
from typing import Any

__all__ = ["context_seen", "may_share_rows"]

BY_MASK = {"full_attention", "attention", "sliding_attention", "chunked_attention"}
"""Layer types, as transformers names them, that see what the mask shows them."""


def may_share_rows(model: str, *, longest: int, trust_remote_code: bool) -> bool:
    """Whether rows of several answers are exact for the model in `model`. longest: tokens of a prompt and its answer.

    A model that transformers has no class for is not known to follow a mask, and shares none.
    """
    from transformers import MODEL_FOR_CAUSAL_LM_MAPPING, AutoConfig

    config = AutoConfig.from_pretrained(model, trust_remote_code=trust_remote_code)
    if type(config) not in MODEL_FOR_CAUSAL_LM_MAPPING:
        return False
    found = MODEL_FOR_CAUSAL_LM_MAPPING[type(config)]
    classes = found if isinstance(found, tuple) else (found,)
    if any(getattr(candidate, "_is_stateful", False) for candidate in classes):
        return False
    return longest <= context_seen(config)


def context_seen(config: Any) -> float:
    """Tokens up to which every layer sees all of a text; inf where there is no such bound, 0 where it is not known.

    config: of transformers. A window of W is W tokens, the present one among them.
    """
    text = config.get_text_config()
    kinds = set(getattr(text, "layer_types", None) or ())
    if kinds - BY_MASK or getattr(text, "alibi", False):  # ALiBi counts places in the row, not in the answer
        return 0
    bounds = []
    if "sliding_attention" in kinds or (not kinds and getattr(text, "use_sliding_window", True)):
        bounds.append(getattr(text, "sliding_window", 0 if kinds else None))
    if "chunked_attention" in kinds:
        bounds.append(getattr(text, "attention_chunk_size", 0))
    known = [bound for bound in bounds if bound is not None]
    return min(known, default=math.inf) if all(isinstance(bound, int) for bound in known) else 0
