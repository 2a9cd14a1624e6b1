"""The C library's heap, in which a CPU's tensors lie: what a pass has freed goes back to the machine."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import torch
from torch import Tensor, nn

__all__ = ["give_back", "give_back_between_layers"]

GROWTH = 128 * 2**20
"""Bytes. What is given back must be touched again: after every layer, a pass took a tenth more of the processor."""


def give_back() -> None:
    """Freed pages leave this process; nothing happens where the C library has no `malloc_trim` (glibc has)."""
    if trim := _malloc_trim():
        trim(0)


@functools.cache
def _malloc_trim() -> Callable[[int], int] | None:
    return getattr(ctypes.CDLL(None), "malloc_trim", None)


def give_back_between_layers(module: nn.Module) -> None:
    """Do so after a layer of a pass that keeps something for a gradient, forward and backward, once the process has
    grown by `GROWTH`.

    glibc cuts an aligned tensor out of a larger piece, and the hole that it leaves is often too small for the next one
    of its size (glibc's bug 30723): what layers keep lies between holes as large as itself.
    """
    watch = _Watch()
    for layer in _layers(module):
        layer.register_forward_hook(watch.after_layer)


class _Watch:
    """least: bytes that the process held since it last gave back, when it held least."""

    def __init__(self) -> None:
        self.process = psutil.Process()
        self.least = self._held()

    def after_layer(self, layer: nn.Module, given: Any, output: Any) -> None:
        hidden = output[0] if isinstance(output, tuple) else output
        if torch.is_grad_enabled() and isinstance(hidden, Tensor) and hidden.requires_grad:
            self._look()
            hidden.register_hook(lambda gradient: self._look())  # type: ignore[no-untyped-call]

    def _look(self) -> None:
        held = self._held()
        if held > self.least + GROWTH:
            give_back()
            self.least = self._held()
        else:
            self.least = min(self.least, held)

    def _held(self) -> int:
        return int(self.process.memory_info().rss)


def _layers(module: nn.Module) -> Iterator[nn.Module]:
    """The members of the outermost lists of modules."""
    for child in module.children():
        yield from child if isinstance(child, nn.ModuleList) else _layers(child)
