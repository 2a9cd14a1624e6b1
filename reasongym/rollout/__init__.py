"""Sampling: Ray actors around vLLM (`engine`), a pool that dispatches to them (`pool`), prompts as token ids (`prompts`)."""

__all__: list[str] = []
