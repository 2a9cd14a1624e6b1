"""Which recipe suits a machine."""

from __future__ import annotations

from reasongym.planning.hardware import Hardware

__all__ = ["default_recipe"]


def default_recipe(hardware: Hardware) -> str:
    """`gpu8` from eight GPUs of 70 GiB, `gpu1` from one of 20 GiB, else `cpu`.

    Those are what the recipes are planned for; `multinode_70b` needs machines that one machine cannot see, so it is
    never chosen by itself.
    """
    if sum(gpu.memory_gib >= 70 for gpu in hardware.gpus) >= 8:
        return "gpu8"
    if any(gpu.memory_gib >= 20 for gpu in hardware.gpus):
        return "gpu1"
    return "cpu"
