"""A model small enough to train in seconds and real enough for vLLM: two layers, the embedded model's tokenizer."""

from __future__ import annotations

from pathlib import Path

VERIFIER = '''
from reasongym.verifiers import verifier

@verifier("length_parity")
def length_parity(response, reference, *, example):
    """A random model answers nothing right; this gives it something to learn from."""
    return (len(response) % 7) / 7
'''


def make_tiny_model(folder: Path) -> Path:
    """A seeded random Llama with tied embeddings as a Hugging Face folder."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from reasongym.models import EMBEDDED, load_tokenizer, model_folder

    tokenizer = load_tokenizer(model_folder(EMBEDDED))
    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=len(tokenizer), hidden_size=128, intermediate_size=256, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=512,
                         tie_word_embeddings=True, bos_token_id=1, eos_token_id=2, pad_token_id=2)
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
