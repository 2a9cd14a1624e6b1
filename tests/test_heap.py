"""A CPU's heap: what is freed leaves the process, also between the layers of a pass."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.stack

# 19 of 20 pieces are freed: holes, with something living above each of them.
HOLES = """
import psutil
from reasongym.training.heap import give_back
held = lambda: psutil.Process().memory_info().rss >> 20
before = held()
kept = [bytes(100_000) + b"1" for _ in range(2000)]
living = kept[::20]
del kept
print(held() - before, end=" ")
give_back()
print(held() - before, len(living))
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="the C library is not glibc")
def test_holes_between_what_lives_are_given_back() -> None:
    done = subprocess.run([sys.executable, "-c", HOLES], capture_output=True, text=True, check=True)
    kept, left, living = map(int, done.stdout.split())
    assert kept > 150  # MiB of 190: the C library keeps them
    assert left < 40  # 9.5 live
    assert living == 100


def test_another_c_library_keeps_what_it_keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    from reasongym.training import heap

    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    monkeypatch.setattr(heap, "_malloc_trim", heap._malloc_trim.__wrapped__)
    assert heap._malloc_trim() is None
    heap.give_back()


def _model() -> Any:
    """Three layers."""
    import torch
    from torch import nn

    class Layer(nn.Module):
        """Experts, as lists within layers are, and a pair of outputs, as some layers have."""

        def __init__(self) -> None:
            super().__init__()
            self.experts = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])

        def forward(self, hidden: torch.Tensor) -> tuple[torch.Tensor, None]:
            return self.experts[0](hidden) + self.experts[1](hidden), None

    class Body(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList([Layer(), Layer(), Layer()])

        def forward(self, hidden: torch.Tensor) -> torch.Tensor:
            for layer in self.layers:
                hidden = layer(hidden)[0]
            return hidden

    return nn.Sequential(Body(), nn.Linear(3, 1))


def test_each_outer_layer_is_a_chance_on_the_way_forward_and_one_back(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from reasongym.training import heap

    model, given = _model(), []
    monkeypatch.setattr(heap, "give_back", lambda: given.append(1))
    monkeypatch.setattr(heap, "GROWTH", -(2**60))
    heap.give_back_between_layers(model)
    with torch.no_grad():
        model(torch.ones(2, 3))
    assert len(given) == 0  # nothing is kept
    loss = model(torch.ones(2, 3)).sum()
    assert len(given) == 3
    loss.backward()
    assert len(given) == 6


def test_it_is_taken_where_the_process_has_grown_since_it_held_least(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from reasongym.training import heap

    # Of a process: as the hooks are placed, then after each layer, and once more after each time it gave back.
    held, given = iter([500, 600, 640, 530, 450, 570, 590, 500, 620]), []
    monkeypatch.setattr(heap._Watch, "_held", lambda self: next(held) * 2**20)
    monkeypatch.setattr(heap, "give_back", lambda: given.append(1))
    model = _model()
    heap.give_back_between_layers(model)  # 500
    loss = model(torch.ones(2, 3)).sum()  # 600; 640, which leaves 530; 450, the least
    assert len(given) == 1
    loss.backward()  # 570; 590, which leaves 500; 620
    assert len(given) == 2
    assert not list(held)
