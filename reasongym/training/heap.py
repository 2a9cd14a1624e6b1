"""The C library's heap, in which a CPU's tensors lie: what a pass has freed goes back to the machine."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["give_back", "give_back_between_layers"]


def give_back() -> None:
    """Freed pages leave this process; nothing happens where the C library has no `malloc_trim` (glibc has).

    glibc keeps the room of a backward pass, gigabytes, for the next one, while the temporaries of an optimizer's step
    and weights on their way to the engines are mapped apart.
    """
    if trim := _malloc_trim():
        trim(0)


@functools.cache
def _malloc_trim() -> Callable[[int], int] | None:
    return getattr(ctypes.CDLL(None), "malloc_trim", None)


def give_back_between_layers(module: nn.Module) -> None:
    """Do so after each layer of a pass that keeps something for a gradient, forward and backward.

    glibc cuts an aligned tensor out of a larger piece, and the hole that it leaves is often too small for the next one
    of its size (glibc's bug 30723): what layers keep lies between holes as large as itself.
    """
    for layer in _layers(module):
        layer.register_forward_hook(_after_layer)


def _after_layer(layer: nn.Module, given: Any, output: Any) -> None:
    hidden = output[0] if isinstance(output, tuple) else output
    if torch.is_grad_enabled() and isinstance(hidden, Tensor) and hidden.requires_grad:
        give_back()
        hidden.register_hook(lambda gradient: give_back())  # type: ignore[no-untyped-call]


def _layers(module: nn.Module) -> Iterator[nn.Module]:
    """The members of the outermost lists of modules."""
    for child in module.children():
        yield from child if isinstance(child, nn.ModuleList) else _layers(child)
