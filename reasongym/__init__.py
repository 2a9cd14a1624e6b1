"""reasongym: a verifiable-reward reasoning gym and GRPO trainer.

Importing this package loads none of torch, ray, vllm or deepspeed.
"""

__all__ = ["__version__"]

__version__ = "0.1.0"
